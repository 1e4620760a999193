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
	output?: string[];
}
export interface WindowView {
	lines?: Entry[];
	allMessages?: Entry[];
	header?: HeaderPart[];
	errors?: Line[];
	nothing?: [collapsed: string, expanded: string];
	live?: Line[];
	clocks?: { fromEnd: number; line: Line }[];
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
const MIN_NAME_CELLS = 12;
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
	const short = ({ output: _, ...entry }: Entry): Entry => entry;
	const windows = details.windows.map(({ allMessages: _, ...window }) => ({ ...window, lines: window.lines?.map(short) }));
	return { ...details, windows };
}

/** How a call stands, for those who see only text: in all, or else in a line for every run. */
export function updateText({ view }: Details): string {
	return view?.status ? plain(view.status) : (view?.rows ?? []).map(plain).join("\n");
}

/** What is said of a call that got no answer. */
export function lastKnown(message: string, details: Details): string {
	const ids = Array.isArray(details.sessionIds) ? details.sessionIds.join(", ") : "";
	const found = ids && ` Read what they said so far with get_subagent_output: ${ids}.`;
	return `${message} The call did not finish, and its sub-agents were stopped.${found}`;
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
	const agents = [...new Set([given, ...tasks].map((task) => text(task?.agent)).filter(Boolean))];
	const others = agents.length ? `agents: [${agents.join(", ")}]` : "";
	if (name === "delegate_to_subagents") {
		add("text", `${tasks.length} sub-agent${tasks.length === 1 ? "" : "s"}`);
		if (text(given.profile)) add("muted", `(default profile: ${text(given.profile)})`);
		const profiles = [...new Set(tasks.map((task) => text(task?.profile)).filter(Boolean))];
		if (profiles.length) add("muted", `profiles: [${profiles.join(", ")}]`);
		add("muted", others);
		return line;
	}
	if (tasks.length) add("text", `${tasks.length} tasks`);
	const presets = [...new Set([given, ...tasks].map((task) => text(task?.preset)).filter(Boolean))];
	if (presets.length) add("accent", presets.join(", "));
	add("muted", others);
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
	cut(line: Line, indent = "", width = this.width): string {
		const text = this.colour(line);
		const room = width - visibleWidth(text);
		return truncateToWidth((room < 0 ? indent : indent.slice(0, room)) + text, width, "…");
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

	/** The parts that fit, as in the terminal: the one that is missed least goes first, the name is cut last. */
	header(parts: HeaderPart[]): string {
		const kept = [...parts];
		const head = (nameCells: number) => kept.flatMap(({ line }, at) => (at ? line : withNameCut(line, nameCells)));
		const room = (nameCells: number) => this.width - cells(head(nameCells));
		if (room(Number.POSITIVE_INFINITY) >= 0) return this.cut(head(Number.POSITIVE_INFINITY));
		// A name may take half of the line before anything else has to go for it.
		const half = Math.max(MIN_NAME_CELLS, Math.floor(this.width / 2));
		while (room(half) < 0 && takeLeast(kept)) {}
		// What the others leave is the name's, and what they lack is taken from it.
		const named = Math.min(half, cells(kept[0]?.line.slice(-1) ?? []));
		return this.cut(head(Math.max(1, named + room(half))));
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
		const clocks = new Map(window.clocks?.map(({ fromEnd, line }) => [entries.length - fromEnd, line]));
		let rows = entries.flatMap((entry, at) => {
			const clock = clocks.get(at);
			return clock ? [this.withClock(entry, clock)] : this.entry(entry, expanded);
		});
		rows.push(...(window.live ?? []).map((line) => this.cut(line, INDENT)));
		if (!expanded) rows = rows.slice(-Math.max(details.maxLinesPerWindow ?? DEFAULT_LINES, 1));
		if (!rows.length) rows.push(this.cut([["dim", window.nothing?.[expanded ? 1 : 0] ?? ""]], INDENT));
		return [...rows, ...(window.errors ?? []).flatMap((line) => this.wrap(line, INDENT))];
	}

	private entry(entry: Entry, expanded: boolean): string[] {
		const remembered = expanded ? this.whole : this.short;
		let rows = remembered.get(entry);
		if (!rows) {
			rows = expanded ? this.unfolded(entry) : [this.cut(pieces(entry), INDENT)];
			remembered.set(entry, rows);
		}
		return rows;
	}

	/** Text goes on in the next row; what an agent did is cut, and what came of it stands below. */
	private unfolded(entry: Entry): string[] {
		if (entry.kind !== "tool") return this.wrap(pieces(entry), INDENT);
		const output = (entry.output ?? []).map((text) => this.cut([["dim", text]], INDENT + INDENT));
		return [this.cut(pieces(entry), INDENT), ...output];
	}

	/** The line is cut, its clock is not. */
	private withClock(entry: Entry, clock: Line): string {
		const room = Math.max(this.width - cells(clock), 0);
		return truncateToWidth(this.cut(pieces(entry), INDENT, room) + this.colour(clock), this.width, "…");
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

/** Takes away the part that is missed least, if any may go. */
function takeLeast(parts: HeaderPart[]): boolean {
	const keeps = parts.map((part) => part.keep ?? Number.POSITIVE_INFINITY);
	const least = Math.min(...keeps);
	if (least === Number.POSITIVE_INFINITY) return false;
	parts.splice(keeps.lastIndexOf(least), 1);
	return true;
}

/** The first part of a header ends with the name. */
function withNameCut(line: Line, nameCells: number): Line {
	if (cells(line.slice(-1)) <= nameCells) return line;
	const [style, name] = line[line.length - 1];
	const cut = truncateToWidth(clean(name), nameCells, "…").replace(/\x1b\[[0-9;]*m/g, ""); // coloured like the rest
	return [...line.slice(0, -1), [style, cut]];
}

function cells(line: Line): number {
	return visibleWidth(clean(plain(line)));
}

function pieces(entry: Entry): Line {
	return entry.pieces ?? [[entry.kind === "tool" ? "muted" : "text", entry.text]];
}

/** Control characters have no width for pi but do things to a terminal. */
function clean(text: string): string {
	return text.replace(/\t/g, "   ").replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, "");
}
