/** What there is around the extension: its tools.json, the variables it was started with, pi's session, its models. */
import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { type ExtensionAPI, type ExtensionContext, getAgentDir } from "@earendil-works/pi-coding-agent";
import type { Params } from "./bridge.ts";

export const KEY = "pi-subagents";
export const NOTICE = "pi-subagents:bg-done";
export const SWITCHED_OFF = "pi-subagents:switched-off";
const MAX_ENTRIES_BYTES = 24_000_000; // a line may have 32 MiB
const MAX_NESTING = 200; // what is deeper could keep the whole line from being read

export interface Manifest {
	version: string;
	protocol: number;
	bridge: string[];
	tools: ToolSpec[];
}
interface ToolSpec {
	name: string;
	label: string;
	description: string;
	promptSnippet?: string;
	needsModel?: boolean;
	parameters: Record<string, unknown>;
}

/** What the installation wrote beside these files. */
export function readManifest(): Manifest {
	return JSON.parse(readFileSync(new URL("./tools.json", import.meta.url), "utf8"));
}

/** A sub-agent has tools of ours only while it is above the depth that its parent's settings allow. */
export function mayDelegate(env: NodeJS.ProcessEnv): boolean {
	if (env.PI_SUBAGENTS_CHILD !== "1") return true;
	const number = (text: string | undefined) => (/^\d+$/.test(text ?? "") ? Number(text) : 1);
	return number(env.PI_SUBAGENTS_DEPTH) < number(env.PI_SUBAGENTS_MAX_DEPTH);
}

/** Installed for the user and in the project, the first that is loaded wins: pi does not start with two tools of a name. */
export function isInstalledTwice(pi: ExtensionAPI): boolean {
	let isThere = false;
	pi.events.emit(`${KEY}:is-there`, () => {
		isThere = true;
	});
	if (!isThere) pi.events.on(`${KEY}:is-there`, (answer) => (answer as () => void)());
	return isThere;
}

/** The tools that the extension, and not a person, has switched off in this session: pi 1.x keeps them so. */
export function switchedOff(ctx: ExtensionContext): string[] {
	const entries = ctx.sessionManager.getEntries();
	const last = entries.findLast((entry) => entry.type === "custom" && entry.customType === SWITCHED_OFF);
	const names = last?.type === "custom" && (last.data as Params | undefined)?.names;
	return Array.isArray(names) ? names : [];
}

export function sessionParams(reason: string, ctx: ExtensionContext): Params {
	const session = ctx.sessionManager;
	const all = reason === "new" ? [] : session.getEntries();
	const entries: { type: string; data: unknown }[] = [];
	const told = new Set<string>();
	let bytes = 0;
	for (const entry of all.toReversed()) {
		if (entry.type === "custom_message" && entry.customType === NOTICE) told.add((entry.details as Params)?.runId);
		if (entry.type !== "custom" || !entry.customType.startsWith(KEY)) continue;
		if (entry.customType === NOTICE) told.add((entry.data as Params)?.runId);
		if (!isShallow(entry.data)) continue;
		bytes += Buffer.byteLength(JSON.stringify(entry.data ?? null));
		if (bytes < MAX_ENTRIES_BYTES) entries.unshift({ type: entry.customType, data: entry.data ?? null });
	}
	return {
		reason,
		sessionId: session.getSessionId(),
		sessionFile: session.getSessionFile() ?? null,
		parentSession: session.getHeader()?.parentSession ?? null,
		cwd: ctx.cwd,
		trusted: ctx.isProjectTrusted(),
		entries,
		told: [...told].filter(Boolean),
	};
}

function isShallow(value: unknown, levels = MAX_NESTING): boolean {
	if (typeof value !== "object" || value === null) return true;
	return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}

/** The schema with the models that there are, in their order, wherever a `model` is to be named. */
export function withModels(schema: Record<string, unknown>, models: string[] | undefined): Record<string, unknown> {
	if (!models?.length) return schema;
	const fill = (value: unknown, name = ""): unknown => {
		if (Array.isArray(value)) return value.map((item) => fill(item));
		if (typeof value !== "object" || value === null) return value;
		const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner, key)]));
		return name === "model" && copy.type === "string" ? { ...copy, enum: [...new Set(models)] } : copy;
	};
	return fill(schema) as Record<string, unknown>;
}

/** Sub-agents are to be of this very pi, with this very configuration. */
export function bridgeEnvironment(): NodeJS.ProcessEnv {
	const agentDir = getAgentDir();
	const own = ownCommand();
	return {
		...process.env,
		PI_AGENT_DIR: agentDir,
		PI_CODING_AGENT_DIR: agentDir,
		...(own && !process.env.PI_SUBAGENTS_PI ? { PI_SUBAGENTS_PI: own } : {}),
	};
}

function ownCommand(): string | undefined {
	const script = process.argv[1];
	const quoted = (word: string) => `'${word.replaceAll("'", `'"'"'`)}'`;
	if (script && statSync(script, { throwIfNoEntry: false })?.isFile()) return `${quoted(process.execPath)} ${quoted(script)}`;
	return /^(node|bun)/.test(basename(process.execPath)) ? undefined : quoted(process.execPath);
}
