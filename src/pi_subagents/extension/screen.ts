/** A screen of the bridge's in the place of the editor: shows its rows and hands it every key. */
import type { Theme } from "@earendil-works/pi-coding-agent";
import { type Component, isKeyRelease, parseKey, type TUI } from "@earendil-works/pi-tui";
import { type Line, Painter } from "./painting.ts";

export type Outcome = "closed" | "aside";

const OTHER_ROWS = 8; // title, hints and the rules around them; pi's footer, and a last look at the chat

/** What there is room for. */
export interface Size {
	height: number;
	columns: number;
}

export function screenSize(): Size {
	const { rows = 24, columns = 80 } = process.stdout;
	return { height: Math.max(3, rows - OTHER_ROWS), columns };
}

export class Screen {
	readonly id: unknown;
	isClosed = false;
	private title = "";
	private hints: Line = [];
	private rows: Line[] = [];
	private readonly onKey: (key: string, size: Size) => void;
	private tui: TUI | undefined;
	private painted = 0;
	private tallest = 0;
	private leave: ((outcome: Outcome) => void) | undefined;

	constructor(params: Record<string, any>, onKey: (key: string, size: Size) => void) {
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

	show({ title, rows, hints }: Record<string, any>): void {
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
