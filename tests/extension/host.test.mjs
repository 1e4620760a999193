// Run by test_on_node.py, beside a copy of the extension and with pi's packages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sessionParams } from "./host.ts";

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
