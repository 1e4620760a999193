/** What the bridge asks of a person: dialogs one after the other, and one screen in the place of the editor. */
import type { ExtensionContext, Theme } from "@earendil-works/pi-coding-agent";
import { type Component, isKeyRelease, parseKey, type TUI } from "@earendil-works/pi-tui";
import type { Params } from "./bridge.ts";
import { type Line, Painter } from "./painting.ts";

type Outcome = "closed" | "aside";
type OnKey = (key: string, size: Size) => void;
/** What there is room for. */
interface Size {
	height: number;
	columns: number;
}

const OTHER_ROWS = 8; // title, hints and the rules around them; pi's footer, and a last look at the chat

export class Dialogs {
	private readonly notify: (method: string, params: Params) => void;
	private last: Promise<unknown> = Promise.resolve();
	private screen: Screen | undefined;

	constructor(notify: (method: string, params: Params) => void) {
		this.notify = notify;
	}

	/** A request; in a mode without dialogs pi answers that nobody did. */
	async answer(ctx: ExtensionContext, method: string, params: Params, signal: AbortSignal): Promise<unknown> {
		const { title, options, message, placeholder, text } = params;
		switch (method) {
			case "dialog/select":
				return this.ask(signal, () => ctx.ui.select(title, options, { signal }));
			case "dialog/confirm":
				return (await this.ask(signal, () => ctx.ui.confirm(title, message, { signal }))) ?? false;
			case "dialog/input": {
				// The terminal shows no placeholder.
				const asked = ctx.mode === "tui" && placeholder ? `${title} (${placeholder})` : title;
				return this.ask(signal, () => ctx.ui.input(asked, placeholder, { signal }));
			}
			case "dialog/editor":
				return this.ask(signal, () => Promise.race([ctx.ui.editor(title, text), aborted(signal)]));
			case "screen/open":
				return ctx.mode === "tui" && this.open(ctx, params);
			default:
				throw new Error(`unknown method: ${method}`);
		}
	}

	/** A notification about the screen. */
	take(method: string, params: Params): void {
		if (this.screen?.id !== params.screen) return;
		if (method === "screen/rows") this.screen?.show(params);
		else if (method === "screen/close") this.screen?.close();
	}

	close(): void {
		this.screen?.close();
	}

	/** A second dialog would take the place of the first, which then never ends. */
	private ask<T>(signal: AbortSignal, dialog: () => Promise<T>): Promise<T | undefined> {
		const answer = this.last.then(() => {
			if (signal.aborted) return undefined;
			this.screen?.aside();
			return dialog();
		});
		this.last = answer.catch(() => {});
		return answer;
	}

	private open(ctx: ExtensionContext, params: Params): Params {
		this.screen?.close();
		const screen = new Screen(params, (key, size) => this.notify("screen/key", { screen: screen.id, key, ...size }));
		this.screen = screen;
		this.keepOpen(ctx, screen).catch(() => {});
		const { height, columns } = screenSize();
		return { rows: height, columns };
	}

	private async keepOpen(ctx: ExtensionContext, screen: Screen): Promise<void> {
		try {
			while (!screen.isClosed) {
				const outcome = await ctx.ui.custom<Outcome>((tui, theme, _keys, done) => screen.attach(tui, theme, done));
				if (outcome !== "aside" && !screen.isClosed) {
					screen.isClosed = true;
					this.notify("screen/closed", { screen: screen.id });
				}
				await this.last; // the dialog that it made room for
			}
		} finally {
			if (this.screen === screen) this.screen = undefined;
		}
	}
}

function aborted(signal: AbortSignal): Promise<undefined> {
	return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}

function screenSize(): Size {
	const { rows = 24, columns = 80 } = process.stdout;
	return { height: Math.max(3, rows - OTHER_ROWS), columns };
}

/** A screen of the bridge's in the place of the editor: shows its rows and hands it every key. */
class Screen {
	readonly id: unknown;
	isClosed = false;
	private title = "";
	private hints: Line = [];
	private rows: Line[] = [];
	private readonly onKey: OnKey;
	private tui: TUI | undefined;
	private painted = 0;
	private tallest = 0;
	private leave: ((outcome: Outcome) => void) | undefined;

	constructor(params: Params, onKey: OnKey) {
		this.id = params.screen;
		this.onKey = onKey;
		this.show(params);
	}

	/** The widget for pi; a screen that was put aside gets another one. */
	attach(tui: TUI, theme: Theme, leave: (outcome: Outcome) => void): Component & { capturesViewportInput: boolean } {
		this.tui = tui;
		this.leave = (outcome) => {
			const hasScrolled = this.hasScrolled(tui);
			leave(outcome);
			if (outcome === "closed" && hasScrolled) tui.requestRender(true);
		};
		let seen = screenSize();
		return {
			capturesViewportInput: true, // otherwise page keys scroll the chat in a full-screen pi
			invalidate: () => {},
			render: (width) => {
				const size = screenSize();
				if (size.height !== seen.height || size.columns !== seen.columns) this.onKey("resize", size);
				seen = size;
				return this.paint(new Painter(theme, width), size.height);
			},
			handleInput: (data) => {
				if (isKeyRelease(data)) return;
				// A letter is itself, also where pi would call it shift+S.
				const key = [...data].length === 1 && data > " " && data !== "\x7f" ? data : parseKey(data)?.toLowerCase();
				if (key === "ctrl+c") this.leave?.("closed"); // also out of a bridge that does not answer
				else if (key) this.onKey(key, screenSize());
			},
		};
	}

	show({ title, rows, hints }: Params): void {
		this.title = title ?? this.title;
		this.rows = rows ?? this.rows;
		this.hints = hints ?? this.hints;
		this.tui?.requestRender();
	}

	aside(): void {
		this.leave?.("aside");
	}

	close(): void {
		this.isClosed = true;
		this.leave?.("closed");
	}

	/**
	 * Whether the chat had to make room by scrolling; what has left the terminal comes back only if all is painted anew.
	 * A full-screen pi does that by itself.
	 */
	private hasScrolled(tui: TUI): boolean {
		const { rows = 24, columns = 80 } = process.stdout;
		try {
			return tui.mode !== "fullscreen" && tui.render(columns).length - this.painted + this.tallest > rows;
		} catch {
			return false; // a chat that cannot be measured must not keep the screen open
		}
	}

	private paint(painter: Painter, height: number): string[] {
		const rule: Line = [["dim", "─".repeat(painter.width)]];
		const rows = this.rows.slice(0, height).map((line) => painter.cut(line));
		const hints = this.hints.length ? [painter.cut(this.hints)] : [];
		const lines = [painter.cut(rule), painter.cut([["title", this.title]]), ...rows, ...hints, painter.cut(rule)];
		this.painted = lines.length;
		this.tallest = Math.max(this.tallest, this.painted);
		return lines;
	}
}
