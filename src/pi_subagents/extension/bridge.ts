/**
 * The other half of the extension: one Python process, JSON-RPC 2.0 in lines (docs/reference/bridge.md).
 *
 * Knows nothing of pi, so that nothing that arrives late can meet a context of pi's that is gone. Whatever fails in
 * here must end in a rejected promise or in `onEnd`: an exception in a callback would end pi.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

export type Params = Record<string, any>;

export interface Handlers {
	/** A request of the bridge's; what is returned is its answer. */
	onRequest(method: string, params: Params, signal: AbortSignal): Promise<unknown>;
	onNotice(method: string, params: Params): void;
	/** The process is gone though nobody closed it. */
	onEnd(why: string): void;
}

export class BridgeGone extends Error {}

interface Waiting {
	resolve(result: unknown): void;
	reject(error: Error): void;
}

const LAST_WORDS_CHARACTERS = 2000;

export class Bridge {
	readonly startedAt = Date.now();
	private readonly child: ChildProcess;
	private readonly handlers: Handlers;
	private readonly waiting = new Map<number, Waiting>();
	/** Ends the dialogs that the bridge asked for: there is nobody left to hear their answers. */
	private readonly dialogs = new AbortController();
	private nextId = 1;
	private pieces: string[] = [];
	private lastWords = "";
	private isClosed = false;
	private held = 0;
	isDead = false;

	constructor(command: string[], cwd: string, env: NodeJS.ProcessEnv, handlers: Handlers) {
		this.handlers = handlers;
		const [program = "", ...args] = command;
		this.child = spawn(program, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
		this.child.once("error", (error) => this.end(`cannot start: ${error.message}`));
		// "close" and not "exit": what it said last is read by then.
		this.child.once("close", (code, signal) => this.end(signal ? `killed by ${signal}` : `exit code ${code}`));
		this.child.stdin?.on("error", () => {}); // a broken pipe is told by "close"
		this.child.stdout?.setEncoding("utf8").on("data", (chunk: string) => this.read(chunk));
		this.child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
			this.lastWords = (this.lastWords + chunk).slice(-LAST_WORDS_CHARACTERS);
		});
		this.setHold(false);
	}

	notify(method: string, params: Params): void {
		this.write({ method, params });
	}

	/** pi may end before the answer is there, unless this happens within `hold`. */
	request(method: string, params: Params): Promise<unknown> {
		if (this.isDead) return Promise.reject(new BridgeGone("The pi-subagents bridge is not running."));
		const id = this.nextId++;
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			this.write({ id, method, params });
		});
	}

	/** Idle, the process must not keep `pi -p` alive; while something is done it must, or node ends with it undone. */
	async hold<T>(work: () => Promise<T>): Promise<T> {
		if (this.held++ === 0) this.setHold(true);
		try {
			return await work();
		} finally {
			if (--this.held === 0) this.setHold(false);
		}
	}

	/** Lets the bridge see to its runs for a while, then takes its input away, at which it ends by itself. */
	async close(reason: string, graceMs: number): Promise<void> {
		if (this.isDead) return;
		this.isClosed = true;
		this.dialogs.abort();
		const answered = new AbortController();
		const patience = sleep(graceMs, undefined, { signal: answered.signal }).catch(() => {});
		await Promise.race([this.request("session/shutdown", { reason }).catch(() => {}), patience]);
		answered.abort();
		this.child.stdin?.end();
		this.held = Number.NEGATIVE_INFINITY; // whatever is still under way, pi goes
		this.setHold(false);
	}

	private setHold(isHeld: boolean): void {
		for (const handle of [this.child, this.child.stdin, this.child.stdout, this.child.stderr] as any[]) {
			if (isHeld) handle?.ref?.();
			else handle?.unref?.();
		}
	}

	private write(message: Params): void {
		if (this.isDead || !this.child.stdin?.writable) return;
		this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	}

	private read(chunk: string): void {
		const lines = chunk.split("\n");
		const rest = lines.pop() ?? "";
		for (const line of lines) {
			this.pieces.push(line);
			const message = this.pieces.join(""); // joined once: a long line comes in thousands of chunks
			this.pieces = [];
			try {
				if (message) this.receive(JSON.parse(message));
			} catch {
				// a line that is no message is not for us
			}
		}
		if (rest) this.pieces.push(rest);
	}

	private receive(message: Params): void {
		if (message.method === undefined) this.settle(message);
		else if (message.id === undefined) this.handlers.onNotice(message.method, message.params ?? {});
		else void this.answer(message);
	}

	private settle(message: Params): void {
		const waiting = this.waiting.get(message.id);
		if (!waiting) return;
		this.waiting.delete(message.id);
		if (message.error) waiting.reject(new Error(String(message.error.message)));
		else waiting.resolve(message.result);
	}

	private async answer(message: Params): Promise<void> {
		try {
			const result = await this.handlers.onRequest(message.method, message.params ?? {}, this.dialogs.signal);
			this.write({ id: message.id, result: result ?? null });
		} catch (error) {
			this.write({ id: message.id, error: { code: -32603, message: String(error) } });
		}
	}

	private end(how: string): void {
		if (this.isDead) return;
		this.isDead = true;
		this.dialogs.abort();
		const said = this.lastWords.trim().split("\n").at(-1);
		const why = said ? `${how}: ${said}` : how;
		for (const one of this.waiting.values()) one.reject(new BridgeGone(`The pi-subagents bridge stopped: ${why}.`));
		this.waiting.clear();
		if (!this.isClosed) this.handlers.onEnd(why);
	}
}
