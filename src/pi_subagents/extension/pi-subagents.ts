/**
 * Puts the tools of pi-subagents into pi: registers what tools.json describes, forwards calls and keys to the bridge,
 * paints what it answers. Everything is decided in Python, on the other end of the bridge.
 *
 * Three things keep a pi alive in which this fails: the factory never throws (pi would not start), nothing that
 * arrives from the bridge throws (pi would end), and after `session_shutdown` nothing touches pi any more.
 */
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Usage } from "@earendil-works/pi-ai";
import {
	type AgentToolResult,
	type AgentToolUpdateCallback,
	type ExtensionAPI,
	type ExtensionContext,
	getAgentDir,
	type SessionManager,
	VERSION,
} from "@earendil-works/pi-coding-agent";
import type { TSchema } from "typebox";
import { Bridge, BridgeGone, type Params } from "./bridge.ts";
import { Dialogs } from "./dialogs.ts";
import {
	bridgeEnvironment,
	isInstalledTwice,
	KEY,
	type Manifest,
	mayDelegate,
	NOTICE,
	readManifest,
	SWITCHED_OFF,
	sessionParams,
	switchedOff,
	withModels,
} from "./host.ts";
import { type Details, lastKnown, patched, slim, updateText } from "./painting.ts";
import { BackgroundRows, noticeRendering, toolRendering } from "./rendering.ts";

interface Call {
	details: Details;
	update: AgentToolUpdateCallback<Details> | undefined;
	isWrittenOut: boolean;
}
interface Answer {
	text: string;
	details?: Details;
	isError?: boolean;
	usage?: Usage | null;
}

const COMMANDS = {
	profile: "List, show, create, edit and delete sub-agent profiles",
	subagents: "Watch, steer and stop sub-agents, and read what they said",
};
const START_AFTER_MS = 100;
const SHUTDOWN_MS = 3_000; // pi waits for it; afterwards the bridge goes on stopping its runs by itself
const CANCEL_MS = 20_000; // three times as long as the bridge may take to stop an agent that does not want to
const COMPLETION_MS = 2_000; // by then a person has typed on
const STABLE_MS = 60_000; // one that lived that long is not in a circle of crashes

export default function piSubagents(pi: ExtensionAPI): void {
	if (!mayDelegate(process.env) || isInstalledTwice(pi)) return;
	try {
		new Extension(pi, readManifest()).register();
	} catch (error) {
		const advice = `pi-subagents cannot use its tools.json (${error}). Run: pi-subagents install pi`;
		pi.on("session_start", (_event, ctx) => ctx.ui.notify(advice, "error"));
	}
}

/** One session of pi: it begins with the factory and is over at `session_shutdown`. */
class Extension {
	private readonly pi: ExtensionAPI;
	private readonly manifest: Manifest;
	private readonly ours: Set<string>;
	private ctx: ExtensionContext | undefined;
	private bridge: Bridge | undefined;
	private greeting: Promise<unknown> = Promise.resolve();
	private isGreeted = false;
	private hasRestarted = false;
	private sessionId: string | undefined;
	private reason = "";
	private readonly calls = new Map<string, Call>();
	private readonly failed = new Set<string>();
	private models: string | undefined;
	private hidden: string[] = [];
	private toldTools = "";
	private readonly background = new BackgroundRows();
	private readonly dialogs = new Dialogs((method, params) => this.bridge?.notify(method, params));

	constructor(pi: ExtensionAPI, manifest: Manifest) {
		this.pi = pi;
		this.manifest = manifest;
		this.ours = new Set(manifest.tools.map((tool) => tool.name));
	}

	register(): void {
		// Here and again when the models are known: after /reload the chat is painted before `session_start`.
		this.registerTools(undefined);
		for (const [name, description] of Object.entries(COMMANDS)) this.registerCommand(name, description);
		this.pi.registerMessageRenderer<Details>(NOTICE, noticeRendering);
		// A thrown error would lose details and usage, and what `execute` returns cannot say that it is one.
		this.pi.on("tool_result", (event) => (this.failed.delete(event.toolCallId) ? { isError: true } : undefined));
		this.pi.on("session_start", (event, ctx) => this.begin(event.reason, ctx));
		this.pi.on("before_agent_start", (_event, ctx) => this.syncModels(ctx));
		this.pi.on("model_select", (_event, ctx) => this.syncModels(ctx));
		this.pi.on("session_shutdown", (event) => this.finish(event.reason));
	}

	// --- the session -------------------------------------------------------------------------------------------

	private begin(reason: string, ctx: ExtensionContext): void {
		this.ctx = ctx;
		const id = ctx.sessionManager.getSessionId();
		const isSaidTwice = id === this.sessionId; // by pi in RPC mode
		if (!isSaidTwice) this.switchOn(ctx);
		this.syncModels(ctx);
		if (isSaidTwice) return;
		this.sessionId = id;
		this.background.open(ctx);
		this.reason = reason;
		process.stdout.on("resize", this.tellColumns);
		// Not now: pi shall be ready first. A call that comes sooner starts it itself.
		setTimeout(() => this.guarded(() => this.ctx && this.start()), START_AFTER_MS).unref();
	}

	private async finish(reason: string): Promise<void> {
		const bridge = this.bridge;
		this.ctx = this.bridge = undefined;
		process.stdout.off("resize", this.tellColumns);
		this.dialogs.close();
		await bridge?.close(reason, SHUTDOWN_MS);
	}

	private start(): Bridge {
		if (this.bridge) return this.bridge;
		const ctx = this.context();
		const bridge = new Bridge(this.manifest.bridge, ctx.cwd, bridgeEnvironment(), {
			onRequest: (method, params, signal) => this.dialogs.answer(this.context(), method, params, signal),
			onNotice: (method, params) => this.guarded(() => this.onNotice(method, params)),
			onEnd: (why) => this.guarded(() => this.onEnd(bridge, why)),
		});
		this.bridge = bridge;
		this.isGreeted = false;
		this.toldTools = "";
		this.greeting = bridge.request("hello", {
			protocol: this.manifest.protocol,
			extension: this.manifest.version,
			pi: VERSION,
			path: dirname(fileURLToPath(import.meta.url)),
			mode: ctx.mode,
		});
		this.greeting.then(
			(answer) => this.guarded(() => this.onGreeted((answer ?? {}) as Params)),
			(error) => this.guarded(() => this.onRefused(error)),
		);
		bridge.notify("session/start", sessionParams(this.reason, ctx));
		this.reason = "reload"; // a later one finds the session as it is by then
		this.tellTools();
		this.tellModels(ctx);
		this.tellColumns();
		return bridge;
	}

	/** Work for a bridge that is known to understand us and knows what there is in pi; pi stays alive meanwhile. */
	private async withBridge<T>(work: (bridge: Bridge) => Promise<T>): Promise<T> {
		const bridge = this.start();
		return bridge.hold(async () => {
			await this.greeting;
			this.tellTools();
			return work(bridge);
		});
	}

	private onGreeted(answer: Params): void {
		this.isGreeted = true;
		if (answer.notice) this.ctx?.ui.notify(`pi-subagents: ${answer.notice}`, "info");
	}

	/** The bridge does not speak as we do; one that has died is told of in `onEnd`. */
	private onRefused(error: Error): void {
		if (error instanceof BridgeGone || !this.ctx) return;
		this.ctx.ui.notify(`pi-subagents: ${error.message}`, "error");
		const active = this.pi.getActiveTools();
		this.append(this.ctx, SWITCHED_OFF, { names: active.filter((name) => this.ours.has(name)) });
		this.pi.setActiveTools(active.filter((name) => !this.ours.has(name)));
	}

	/** Whoever opens a session again may have a bridge by now that speaks as we do. */
	private switchOn(ctx: ExtensionContext): void {
		const names = switchedOff(ctx);
		if (!names.length) return;
		this.append(ctx, SWITCHED_OFF, { names: [] });
		this.pi.setActiveTools([...new Set([...this.pi.getActiveTools(), ...names])]);
	}

	private onEnd(bridge: Bridge, why: string): void {
		if (this.bridge !== bridge) return;
		this.bridge = undefined;
		this.dialogs.close();
		if (!this.ctx) return;
		this.ctx.ui.setStatus(KEY, undefined);
		const isStable = !this.hasRestarted || Date.now() - bridge.startedAt > STABLE_MS;
		if (this.isGreeted && isStable) {
			this.hasRestarted = true;
			this.ctx.ui.notify(`pi-subagents: the bridge stopped (${why}) and was restarted.`, "warning");
			this.start();
		} else {
			const log = join(getAgentDir(), "subagents", "bridge.log");
			const advice = this.isGreeted ? `Log: ${log}` : "Run: pi-subagents doctor";
			this.ctx.ui.notify(`pi-subagents: the bridge stopped (${why}); the next call restarts it. ${advice}`, "error");
		}
	}

	// --- tools -------------------------------------------------------------------------------------------------

	private registerTools(models: string[] | undefined): void {
		for (const spec of this.manifest.tools) {
			this.pi.registerTool<TSchema, Details>({
				name: spec.name,
				label: spec.label,
				description: spec.description,
				promptSnippet: spec.promptSnippet,
				parameters: withModels(spec.parameters, models) as unknown as TSchema,
				execute: (id, params, signal, onUpdate, ctx) => this.execute(spec.name, id, params, signal, onUpdate, ctx),
				...toolRendering(spec.name, this.background),
			});
		}
	}

	private execute(
		name: string,
		id: string,
		args: unknown,
		signal: AbortSignal | undefined,
		update: AgentToolUpdateCallback<Details> | undefined,
		ctx: ExtensionContext,
	): Promise<AgentToolResult<Details>> {
		const call: Call = { details: {}, update, isWrittenOut: ctx.mode !== "tui" };
		this.calls.set(id, call);
		return this.withBridge(async (bridge) => {
			const answer = bridge.request("tool/call", { call: id, name, arguments: args }) as Promise<Answer>;
			return this.result(id, await Promise.race([answer, this.cancelled(bridge, id, signal, answer)]));
		})
			.catch((error) => {
				if (!(error instanceof BridgeGone)) throw error;
				return this.result(id, { text: lastKnown(error.message, call.details), details: call.details, isError: true });
			})
			.finally(() => this.calls.delete(id));
	}

	/** Passes an abort on; pi waits for a tool without bound, so an answer that does not come is given here. */
	private cancelled(bridge: Bridge, id: string, signal: AbortSignal | undefined, answer: Promise<Answer>): Promise<Answer> {
		return new Promise((_resolve, reject) => {
			let timer: NodeJS.Timeout | undefined;
			const cancel = () => {
				bridge.notify("tool/cancel", { call: id });
				timer = setTimeout(() => reject(new BridgeGone("The pi-subagents bridge did not stop this call in time.")), CANCEL_MS);
			};
			if (signal?.aborted) cancel();
			else signal?.addEventListener("abort", cancel, { once: true });
			answer.catch(() => {}).finally(() => clearTimeout(timer));
		});
	}

	private result(id: string, answer: Answer): AgentToolResult<Details> {
		if (answer.isError) this.failed.add(id);
		return {
			content: [{ type: "text", text: answer.text }],
			details: answer.details ?? {},
			usage: answer.usage ?? undefined,
		};
	}

	private onUpdate({ call: id, patch }: Params): void {
		const call = this.calls.get(id);
		if (!call) return;
		call.details = patched(call.details, patch ?? {});
		const details = call.isWrittenOut ? slim(call.details) : call.details;
		call.update?.({ content: [{ type: "text", text: updateText(details) }], details });
	}

	// --- what there is in pi -----------------------------------------------------------------------------------

	/** No event tells of new models, so this is asked wherever they could matter; their order alone changes nothing. */
	private syncModels(ctx: ExtensionContext): void {
		const names = ctx.modelRegistry.getAvailable().map((model) => `${model.provider}/${model.id}`);
		const key = JSON.stringify([...new Set(names)].sort());
		if (key === this.models) return;
		this.models = key;
		this.registerTools(names);
		const active = this.pi.getActiveTools();
		if (names.length) {
			if (this.hidden.length) this.pi.setActiveTools([...active, ...this.hidden]);
			this.hidden = []; // those that the user has switched off stay off
		} else {
			const needy = new Set(this.manifest.tools.filter((tool) => tool.needsModel).map((tool) => tool.name));
			this.hidden = active.filter((name) => needy.has(name));
			this.pi.setActiveTools(active.filter((name) => !needy.has(name)));
		}
		this.tellModels(ctx);
	}

	private tellModels(ctx: ExtensionContext): void {
		const models = ctx.modelRegistry
			.getAvailable()
			.map(({ provider, id, name, reasoning }) => ({ provider, id, name, reasoning }));
		this.bridge?.notify("host/models", { models });
	}

	private readonly tellColumns = (): void => {
		if (this.ctx?.mode === "tui") this.bridge?.notify("host/columns", { columns: process.stdout.columns ?? null });
	};

	private tellTools(): void {
		// All of them, active or not: a profile that excludes some means what is left of everything there is.
		const names = this.pi.getAllTools().map((tool) => tool.name);
		const told = JSON.stringify(names);
		if (told !== this.toldTools) this.bridge?.notify("host/tools", { names });
		this.toldTools = told;
	}

	// --- what the bridge wants of pi ---------------------------------------------------------------------------

	private onNotice(method: string, params: Params): void {
		const ctx = this.ctx;
		if (!ctx) return;
		if (method === "tool/update") this.onUpdate(params);
		else if (method === "entry/append") this.append(ctx, params.type, params.data);
		else if (method === "message/show") this.show(ctx, params);
		else if (method === "usage/append") this.countSpend(ctx, params);
		else if (method === "ui/status") ctx.ui.setStatus(KEY, dimmed(ctx, params.text));
		else if (method === "ui/notify") ctx.ui.notify(params.message, params.level ?? "info");
		else this.dialogs.take(method, params);
	}

	private append(ctx: ExtensionContext, type: string, data: unknown): void {
		try {
			this.pi.appendEntry(type, data);
			this.background.take(type, data);
		} catch (error) {
			ctx.ui.notify(`pi-subagents: could not write to the session (${error})`, "warning");
		}
	}

	/** Adds what a background run has spent to pi's totals; pi has no other way to count what belongs to no call. */
	private countSpend(ctx: ExtensionContext, { provider, model, usage }: Params): void {
		const manager = ctx.sessionManager as Partial<SessionManager>; // to extensions pi shows it as read-only
		manager.appendUsage?.(KEY, provider, model, usage);
	}

	private show(ctx: ExtensionContext, { type, content, details }: Params): void {
		// `pi -p` prints the last message only if it is the model's.
		if (ctx.mode === "print") this.append(ctx, type, { content, ...details });
		else this.pi.sendMessage({ customType: type, content, display: true, details }, { triggerTurn: false });
	}

	// --- commands ----------------------------------------------------------------------------------------------

	private registerCommand(command: string, description: string): void {
		this.pi.registerCommand(command, {
			description,
			getArgumentCompletions: async (prefix) => {
				if (!this.bridge) return null;
				const asked = this.bridge.request("command/complete", { command, prefix }).catch(() => null);
				const late = sleep(COMPLETION_MS, null, { ref: false });
				const found = (await Promise.race([asked, late])) as { value: string; label: string }[] | null;
				return found?.length ? found : null;
			},
			handler: async (args) => {
				await this.withBridge((bridge) => bridge.request("command/run", { command, arguments: args }));
			},
		});
	}

	private context(): ExtensionContext {
		if (!this.ctx) throw new Error("This pi session is over.");
		return this.ctx;
	}

	private guarded(work: () => unknown): void {
		try {
			work();
		} catch {
			// Something of pi's is gone; there is nobody to tell.
		}
	}
}

function dimmed(ctx: ExtensionContext, text: string | null | undefined): string | undefined {
	return text && ctx.mode === "tui" ? ctx.ui.theme.fg("dim", text) : (text ?? undefined);
}
