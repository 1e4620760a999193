// Run by test_on_node.py, beside a copy of the extension and with pi's packages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui";
import { callLine, Painter, Painting, patched, plain, slim, updateText } from "./painting.ts";

const COLOURS = ["text", "toolTitle", "muted", "dim", "accent", "toolDiffAdded", "toolDiffRemoved", "success", "warning", "error"];
const theme = {
	fg: (colour, text) => {
		if (!COLOURS.includes(colour)) throw new Error(`Unknown theme color: ${colour}`);
		return `\x1b[3${COLOURS.indexOf(colour) % 8}m${text}\x1b[39m`;
	},
	bold: (text) => `\x1b[1m${text}\x1b[22m`,
};
const shown = (lines) => lines.map((line) => line.replace(/\x1b\[[0-9;]*m/g, ""));
const entry = (text, kind = "text") => ({ text, kind });
const window = (members = {}) => ({
	header: [
		{ line: [["warning", "⏳"], ["bold", " name"]] },
		{ line: [["muted", " • model"]], keep: 0 },
		{ line: [["muted", " • tools"]], keep: 4 },
		{ line: [["muted", " • 3s"]] },
	],
	errors: [],
	nothing: ["(starting...)", "(no output)"],
	live: [],
	lines: [],
	allMessages: [],
	...members,
});

test("updates add up to what was said, and earlier details stay as they were", () => {
	const first = patched({}, { set: { maxLinesPerWindow: 2 }, windows: [{ index: 0, set: { status: "running" }, push: [entry("a")] }] });
	const second = patched(first, { windows: [{ index: 0, push: [entry("b"), entry("c")] }] });
	const third = patched(second, { set: { globalStatus: "done" }, windows: [{ index: 0, drop: 1, push: [entry("x"), entry("c")] }] });
	const texts = (details, member) => details.windows[0][member].map((line) => line.text).join("");
	assert.deepEqual([first, second, third].map((details) => texts(details, "allMessages")), ["a", "abc", "abxc"]);
	assert.deepEqual([first, second, third].map((details) => texts(details, "lines")), ["a", "bc", "xc"]);
	assert.deepEqual([third.globalStatus, third.windows[0].status, second.globalStatus], ["done", "running", undefined]);
	const many = patched(third, { windows: [{ index: 0, push: Array.from({ length: 900 }, (_, n) => entry(`${n}`)) }] });
	assert.equal(many.windows[0].allMessages.length, 500);
	assert.equal(many.windows[0].allMessages.at(-1).text, "899");
	assert.equal("allMessages" in slim(many).windows[0], false);
	assert.deepEqual(slim({ windows: [{ lines: [{ ...entry("a"), output: ["b"] }] }] }).windows[0].lines, [entry("a")]);
	assert.equal(many.windows[0].allMessages.length, 500);
});

test("a header loses what is missed least first", () => {
	const at = (width) => shown([new Painter(theme, width).header(window().header)])[0];
	assert.equal(at(40), "⏳ name • model • tools • 3s");
	assert.equal(at(24), "⏳ name • tools • 3s");
	assert.equal(at(12), "⏳ name • 3s");
	assert.equal(at(6), "⏳… •…");
});

test("a name takes the width there is: half of the line before anything goes for it, and all that the others leave", () => {
	const name = "one two three four five six seven";
	const parts = [{ line: [["warning", "⏳"], ["text", " "], ["bold", name]] }, ...window().header.slice(1)];
	const at = (width) => shown([new Painter(theme, width).header(parts)])[0];
	assert.equal(at(60), `⏳ ${name} • model • tools • 3s`);
	assert.equal(at(50), "⏳ one two three four five s… • model • tools • 3s");
	assert.equal(at(32), "⏳ one two three f… • tools • 3s");
	assert.equal(at(20), "⏳ one two thr… • 3s");
	for (const width of [1, 5, 8, 20, 30, 50]) assert.ok(visibleWidth(at(width)) <= width);
});

test("expanded, what a tool returned stands below its call, and collapsed it does not", () => {
	const lines = [{ ...entry("→ bash → make", "tool"), output: ["cc -c a.c", "error: a long one"] }, entry("It failed.")];
	const details = { windows: [window({ lines, allMessages: lines })] };
	const body = (expanded) => shown(new Painter(theme, 20).windows(details, expanded)).slice(2);
	assert.deepEqual(body(false), ["  → bash → make", "  It failed."]);
	assert.deepEqual(body(true), ["  → bash → make", "    cc -c a.c", "   error: a long one", "  It failed."]);
});

test("a tool that has been running for a while says for how long, and its line is cut before that is", () => {
	const lines = [entry("Testing."), entry("→ bash → npm run a long test", "tool"), entry("→ read → a.txt", "tool")];
	const clocks = [{ fromEnd: 2, line: [["warning", " (12s)"]] }];
	const details = { maxLinesPerWindow: 2, windows: [window({ lines: lines.slice(1), allMessages: lines, clocks })] };
	const body = (width, expanded) => shown(new Painter(theme, width).windows(details, expanded)).slice(2);
	assert.deepEqual(body(60, false), ["  → bash → npm run a long test (12s)", "  → read → a.txt"]);
	assert.deepEqual(body(24, true), ["  Testing.", "  → bash → npm ru… (12s)", "  → read → a.txt"]);
	assert.ok(visibleWidth(body(4, false)[0]) <= 4);
});

test("collapsed, lines are cut and the newest stay; expanded, text goes on in the next row", () => {
	const lines = [entry("gone"), entry("one two three four five"), entry("→ bash → a long command", "tool")];
	const details = {
		maxLinesPerWindow: 2,
		windows: [window({ lines, allMessages: lines, errors: [[["error", "it went wrong"]]] })],
		view: { status: [["title", "Sub-agents: 1 error"]], footer: [["dim", "Sessions: "], ["accent", "0123456789abcdef"]] },
	};
	const painter = new Painter(theme, 20);
	assert.deepEqual(shown(painter.windows(details, false)), [
		"Sub-agents: 1 error", "", "⏳ name • tools • 3s", "  one two three fou…", "  → bash → a long c…", "  it went wrong", "",
		"Sessions:", "0123456789abcdef",
	]);
	assert.deepEqual(shown(painter.windows(details, true)).slice(2, 7), [
		"⏳ name • tools • 3s", "  gone", "  one two three four", "  five", "  → bash → a long c…",
	]);
});

test("a preview that fills the row goes without its indent and keeps its end", () => {
	const row = (text) => shown(new Painter(theme, 20).windows({ windows: [window({ lines: [entry(text, "tool")] })] }, false)).at(-1);
	assert.equal(row("→ read → …/name.ts"), "  → read → …/name.ts");
	assert.equal(row("→ read → …e/name.ts"), " → read → …e/name.ts");
	assert.equal(row("→ read → …me/name.ts"), "→ read → …me/name.ts");
	assert.equal(row("→ read → …ome/name.ts"), "  → read → …ome/nam…");
});

test("a window without lines is starting while it runs and collapsed, and has no output once it has ended", () => {
	const painter = new Painter(theme, 20);
	const running = patched({}, { windows: [{ index: 0, set: window({ status: "running" }) }] });
	const ended = patched(running, { windows: [{ index: 0, set: { status: "completed", nothing: ["(no output)", "(no output)"] } }] });
	const words = (details) => [false, true].map((expanded) => shown(painter.windows(details, expanded))[2]);
	assert.deepEqual(words(running), ["  (starting...)", "  (no output)"]);
	assert.deepEqual(words(ended), ["  (no output)", "  (no output)"]);
});

test("an update in text names every run of a call, not only the last", () => {
	const rows = [[["warning", "⏳"], ["bold", " scout"], ["muted", " • Reading a.py"]], [["warning", "⏳"], ["bold", " worker"], ["muted", " • npm test"]]];
	assert.equal(updateText({ view: { rows } }), "⏳ scout • Reading a.py\n⏳ worker • npm test");
	assert.equal(updateText({ view: { status: [["title", "Sub-agents: "], ["text", "2 running"]] } }), "Sub-agents: 2 running");
	assert.equal(updateText({}), "");
});

test("no line is wider than the terminal or does anything to it, whatever it says", () => {
	const nasty = ["a\tb\x1b[2J\x07\r\ncd", "漢字".repeat(90), "👩‍👩‍👧‍👦🏳️‍🌈é".repeat(40), "x".repeat(3_000), "\u2028\u0085"];
	const pieces = nasty.map((text) => ["made-up style", text]);
	const details = {
		windows: [window({ header: pieces.map((piece, keep) => ({ line: [piece], keep })), lines: nasty.map((text) => ({ ...entry(text, "tool"), output: nasty })), live: [pieces], errors: [pieces], clocks: [{ fromEnd: 2, line: pieces }] })],
		view: { status: pieces, footer: pieces },
	};
	for (const width of [1, 2, 3, 4, 17, 80, 200]) {
		for (const expanded of [false, true]) {
			const painter = new Painter(theme, width);
			for (const line of [...painter.windows(details, expanded), ...painter.rows([pieces], expanded)]) {
				assert.ok(visibleWidth(line) <= width, `${visibleWidth(line)} > ${width}`);
				assert.ok(!/[\x00-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\[[0-9;]*m)/.test(line), JSON.stringify(line.slice(0, 200)));
			}
		}
	}
});

test("details that cannot be painted become a sentence instead of the end of pi", () => {
	const painting = new Painting().show(theme, (painter) => painter.windows({ windows: [{ header: 7 }] }, false));
	assert.match(shown(painting.render(80)).join(), /^pi-subagents cannot show this: /);
	assert.deepEqual(painting.render(0), []);
});

test("a call is named while its arguments are still arriving", () => {
	const of = (name, args) => plain(callLine(name, args));
	assert.equal(of("delegate_to_subagents", undefined), "delegate_to_subagents 0 sub-agents");
	const tasks = [{ profile: "writer" }, null, { profile: "writer" }, {}];
	assert.equal(
		of("delegate_to_subagents", { tasks, profile: "reader" }),
		"delegate_to_subagents 4 sub-agents (default profile: reader) profiles: [writer]",
	);
	const each = [{ agent: "claude" }, { agent: "codex" }, { agent: "claude" }];
	assert.equal(
		of("delegate_to_subagents", { tasks: each }),
		"delegate_to_subagents 3 sub-agents agents: [claude, codex]",
	);
	assert.equal(of("subagent", { preset: "a", agent: "claude", task: "Look." }), "subagent a agents: [claude] Look.");
	assert.equal(of("subagent", { tasks: [{ preset: "a" }, { preset: "b" }] }), "subagent 2 tasks a, b");
	assert.equal(of("subagent", { preset: 3, task: "Look." }), "subagent Look.");
	assert.equal(of("get_subagent_output", { sessionId: "ab" }), "get_subagent_output ab");
});
