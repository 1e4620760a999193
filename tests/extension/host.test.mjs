// Run by test_on_node.py, beside a copy of the extension and with pi's packages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mayDelegate, sessionParams } from "./host.ts";

const MAX_LINE_BYTES = 32 * 1024 * 1024;
const run = (data) => ({ type: "custom", customType: "pi-subagents", data });
const nested = (levels) => {
	let value = [];
	for (let level = 0; level < levels; level++) value = [value];
	return value;
};

function toldOf(entries) {
	const sessionManager = { getEntries: () => entries, getSessionId: () => "s", getSessionFile: () => "f", getHeader: () => null };
	return sessionParams("resume", { cwd: "/", isProjectTrusted: () => true, sessionManager });
}

test("a session is told in one line, however long its log is in whichever script", () => {
	const log = Array.from({ length: 30 }, (_, number) => run({ number, output: "語".repeat(700_000) }));
	const told = toldOf(log);
	assert.ok(Buffer.byteLength(JSON.stringify(told)) < MAX_LINE_BYTES);
	assert.equal(told.entries.at(-1).data.number, 29);
});

test("an entry that is nested deeper than can be read does not keep the others from being told", () => {
	const told = toldOf([run({ number: 1 }), run({ messages: nested(1000) }), run({ messages: nested(100_000) }), run({ number: 4 })]);
	assert.deepEqual(told.entries.map((entry) => entry.data), [{ number: 1 }, { number: 4 }]);
});

test("a child has the tools only above the deepest level, and what is no number counts as one", () => {
	const levels = (depth, deepest) => mayDelegate({ PI_SUBAGENTS_CHILD: "1", PI_SUBAGENTS_DEPTH: depth, PI_SUBAGENTS_MAX_DEPTH: deepest });
	assert.deepEqual([levels("1", "1"), levels("2", "2"), levels("1", "2"), levels("3", "2")], [false, false, true, false]);
	assert.deepEqual([levels(undefined, "2"), levels("1", undefined), levels("x", "-1"), mayDelegate({})], [true, false, false, true]);
});
