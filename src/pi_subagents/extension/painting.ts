/**
 * Details of a tool call as lines of the terminal. They are data, in the session file too; colours and widths are
 * added here, each time they are shown.
 */
import type { Theme, ThemeColor } from "@earendil-works/pi-coding-agent";
import { type Component, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";

export type Piece = [style: string, text: string];
export type Line = Piece[];
export interface HeaderPart {
	line: Line;
	keep?: number | null;
}
export interface Entry {
	text: string;
	kind?: string;
	pieces?: Line | null;
}
export interface WindowView {
	lines?: Entry[];
	allMessages?: Entry[];
	header?: HeaderPart[];
	errors?: Line[];
	nothing?: [collapsed: string, expanded: string];
	live?: Line[];
	[member: string]: unknown;
}
export interface Details {
	windows?: WindowView[];
	maxLinesPerWindow?: number;
	view?: { rows?: Line[]; more?: Line[]; status?: Line; footer?: Line };
	[member: string]: unknown;
}
export interface Patch {
	set?: Record<string, unknown>;
	windows?: { index: number; set?: Record<string, unknown>; drop?: number; push?: Entry[] }[];
}

const MAX_MESSAGES = 500;
const DEFAULT_LINES = 15;
const INDENT = "  ";

const COLOURS: Record<string, ThemeColor> = {
	text: "text",
	bold: "text",
	title: "toolTitle",
	muted: "muted",
	dim: "dim",
	accent: "accent",
	added: "toolDiffAdded",
	removed: "toolDiffRemoved",
	success: "success",
	warning: "warning",
	error: "error",
};
const BOLD = new Set(["bold", "title"]);

/** Details with what an update says; the ones before stay as they were, because pi may still show them. */
export function patched(details: Details, patch: Patch): Details {
	const next: Details = { ...details, ...patch.set };
	if (!patch.windows?.length) return next;
	const windows = [...(next.windows ?? [])];
	const most = Math.max(next.maxLinesPerWindow ?? DEFAULT_LINES, 0);
	for (const { index, set, drop = 0, push = [] } of patch.windows) {
		const window: WindowView = { ...windows[index], ...set };
		const before = window.allMessages ?? [];
		if (drop || push.length || !window.allMessages) {
			window.allMessages = [...before.slice(0, before.length - drop), ...push].slice(-MAX_MESSAGES);
			window.lines = window.allMessages.slice(most ? -most : MAX_MESSAGES);
		}
		windows[index] = window;
	}
	next.windows = windows;
	return next;
}

/** Without what only an expanded window shows: pi writes every update out in full where it has no terminal. */
export function slim(details: Details): Details {
	if (!details.windows) return details;
	return { ...details, windows: details.windows.map(({ allMessages: _, ...window }) => window) };
}

/** How a call stands, for those who see only text: in all, or else in a line for every run. */
export function updateText({ view }: Details): string {
	return view?.status ? plain(view.status) : (view?.rows ?? []).map(plain).join("\n");
}

/** What is said of a call that got no answer. */
export function lastKnown(message: string, details: Details): string {
	const ids = Array.isArray(details.sessionIds) ? details.sessionIds.join(", ") : "";
	const found = ids && ` What there is of its sub-agents can be read with get_subagent_output: ${ids}.`;
	return `${message} The call was not finished; its sub-agents were stopped.${found}`;
}

export function plain(line: Line | undefined): string {
	return (line ?? []).map(([, text]) => text).join("");
}

/** What is shown of a call before there is any result; arguments may be missing or still arriving. */
export function callLine(name: string, args: unknown): Line {
	const given = (args ?? {}) as Record<string, unknown>;
	const text = (value: unknown) => (typeof value === "string" ? value : "");
	const tasks = (Array.isArray(given.tasks) ? given.tasks : []) as Record<string, unknown>[];
	const line: Line = [["title", name]];
	const add = (style: string, words: string) => words && line.push([style, ` ${words}`]);
	if (name === "delegate_to_subagents") {
		add("text", `${tasks.length} sub-agent${tasks.length === 1 ? "" : "s"}`);
		if (text(given.profile)) add("muted", `(default profile: ${text(given.profile)})`);
		const profiles = [...new Set(tasks.map((task) => text(task?.profile)).filter(Boolean))];
		if (profiles.length) add("muted", `profiles: [${profiles.join(", ")}]`);
		return line;
	}
	if (tasks.length) add("text", `${tasks.length} tasks`);
	const presets = [...new Set([given, ...tasks].map((task) => text(task?.preset)).filter(Boolean))];
	if (presets.length) add("accent", presets.join(", "));
	add("accent", text(given.sessionId) || text(given.runId));
	add("muted", text(given.task));
	return line;
}

/** Anything that is a list of lines once it knows how wide they may be. */
export class Painting implements Component {
	private draw: (painter: Painter) => string[] = () => [];
	private theme: Theme | undefined;
	private painter: Painter | undefined;
	private lines: string[] | undefined;

	show(theme: Theme, draw: (painter: Painter) => string[]): this {
		if (theme !== this.theme) this.painter = undefined;
		this.theme = theme;
		this.draw = draw;
		this.lines = undefined;
		return this;
	}

	invalidate(): void {
		this.painter = this.lines = undefined;
	}

	render(width: number): string[] {
		if (!this.theme || width < 1) return [];
		if (this.painter?.width !== width) {
			this.painter = new Painter(this.theme, width);
			this.lines = undefined;
		}
		try {
			this.lines ??= this.draw(this.painter);
		} catch (error) {
			// Details of another version, perhaps; an exception while painting would end pi.
			this.lines = this.painter.text(`pi-subagents cannot show this: ${error}`, "error");
		}
		return this.lines;
	}
}

/** Paints for one width and one theme; remembers the lines of a window, most of which stay from update to update. */
export class Painter {
	readonly width: number;
	private readonly theme: Theme;
	private readonly short = new WeakMap<Entry, string[]>();
	private readonly whole = new WeakMap<Entry, string[]>();

	constructor(theme: Theme, width: number) {
		this.theme = theme;
		this.width = width;
	}

	/** A line that has just room enough goes without its indent: better than without its end. */
	cut(line: Line, indent = ""): string {
		const text = this.colour(line);
		const room = this.width - visibleWidth(text);
		return truncateToWidth((room < 0 ? indent : indent.slice(0, room)) + text, this.width, "…");
	}

	wrap(line: Line, indent = ""): string[] {
		const room = this.width - indent.length;
		if (room < 2) return [this.cut(line)];
		return wrapTextWithAnsi(this.colour(line), room).map((row) => truncateToWidth(indent + row, this.width, "…"));
	}

	text(text: string, style: string, expanded = false): string[] {
		return this.rows(
			text.split("\n").map((row) => [[style, row]]),
			expanded,
		);
	}

	rows(lines: Line[], expanded: boolean): string[] {
		return lines.flatMap((line) => (expanded ? this.wrap(line) : [this.cut(line)]));
	}

	/** The parts that fit; where there are too many, the one that is missed least goes first. */
	header(parts: HeaderPart[]): string {
		const kept = [...parts];
		const width = () => visibleWidth(clean(kept.map((part) => plain(part.line)).join("")));
		while (width() > this.width) {
			const keeps = kept.map((part) => part.keep ?? Number.POSITIVE_INFINITY);
			const least = Math.min(...keeps);
			if (least === Number.POSITIVE_INFINITY) break;
			kept.splice(keeps.lastIndexOf(least), 1);
		}
		return this.cut(kept.flatMap((part) => part.line));
	}

	windows(details: Details, expanded: boolean): string[] {
		const { status, footer } = details.view ?? {};
		const lines = status?.length ? [this.cut(status)] : [];
		for (const window of details.windows ?? []) {
			lines.push("", this.header(window.header ?? []), ...this.body(window, details, expanded));
		}
		if (footer?.length) lines.push("", ...this.wrap(footer)); // the ids are of no use when they are cut
		return lines;
	}

	private body(window: WindowView, details: Details, expanded: boolean): string[] {
		const entries = (expanded ? (window.allMessages ?? window.lines) : window.lines) ?? [];
		let rows = entries.flatMap((entry) => this.entry(entry, expanded));
		rows.push(...(window.live ?? []).map((line) => this.cut(line, INDENT)));
		if (!expanded) rows = rows.slice(-Math.max(details.maxLinesPerWindow ?? DEFAULT_LINES, 1));
		if (!rows.length) rows.push(this.cut([["dim", window.nothing?.[expanded ? 1 : 0] ?? ""]], INDENT));
		return [...rows, ...(window.errors ?? []).flatMap((line) => this.wrap(line, INDENT))];
	}

	/** Expanded, text goes on in the next row; what an agent did is always cut. */
	private entry(entry: Entry, expanded: boolean): string[] {
		const isWhole = expanded && entry.kind !== "tool";
		const remembered = isWhole ? this.whole : this.short;
		let rows = remembered.get(entry);
		if (!rows) {
			rows = isWhole ? this.wrap(pieces(entry), INDENT) : [this.cut(pieces(entry), INDENT)];
			remembered.set(entry, rows);
		}
		return rows;
	}

	private colour(line: Line): string {
		return line
			.map(([style, text]) => {
				const shown = BOLD.has(style) ? this.theme.bold(clean(text)) : clean(text);
				return this.theme.fg(COLOURS[style] ?? "text", shown); // a colour that the theme does not have would throw
			})
			.join("");
	}
}

function pieces(entry: Entry): Line {
	return entry.pieces ?? [[entry.kind === "tool" ? "muted" : "text", entry.text]];
}

/** Control characters have no width for pi but do things to a terminal. */
function clean(text: string): string {
	return text.replace(/\t/g, "   ").replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, "");
}
