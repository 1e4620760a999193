// Run by test_on_node.py: the extension between a stand-in for pi and a bridge that follows the transcripts.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import piSubagents from "./index.ts";

const FOLDER = process.env.TRANSCRIPTS;
const KEYS = { enter: "\r", escape: "\x1b", up: "\x1b[A", down: "\x1b[B" };
const MANIFEST = JSON.parse(readFileSync("tools.json", "utf8"));
const theme = { fg: (_colour, text) => text, bold: (text) => text };
process.stdout.rows = 20; // room for twelve rows
process.stdout.columns = 164;

class FakePi {
	tools = new Map();
	commands = new Map();
	handlers = new Map();
	did = { "entry/append": [], "message/show": [], "ui/status": [], "ui/notify": [] };
	events = { emit() {}, on() {} };
	active;
	constructor(active) { this.active = active; }
	on(event, handler) { this.handlers.set(event, handler); }
	registerTool(tool) { this.tools.set(tool.name, tool); }
	registerCommand(name, command) { this.commands.set(name, command); }
	registerMessageRenderer() {}
	getActiveTools() { return this.active; }
	getAllTools() { return this.active.map((name) => ({ name })); }
	setActiveTools(names) { this.active = names; }
	appendEntry(type, data) { this.did["entry/append"].push({ type, data }); }
	sendMessage({ customType, content, details, display }, { triggerTurn }) {
		assert.deepEqual([display, triggerTurn], [true, false]);
		this.did["message/show"].push({ type: customType, content, details });
	}
}

/** A person who gives the answers of the transcript, and a terminal that shows what there is. */
function context(pi, session, models, answers) {
	const answer = async () => answers.shift() ?? undefined;
	return {
		mode: "tui",
		cwd: process.cwd(),
		isProjectTrusted: () => session.trusted,
		modelRegistry: { getAvailable: () => models },
		sessionManager: {
			getSessionId: () => session.sessionId,
			getSessionFile: () => session.sessionFile,
			getHeader: () => ({ parentSession: session.parentSession ?? undefined }),
			getEntries: () => [],
		},
		ui: {
			theme,
			notify: (message, level) => pi.did["ui/notify"].push({ message, level }),
			setStatus: (_key, text) => pi.did["ui/status"].push({ text: text ?? null }),
			select: answer, confirm: answer, input: answer, editor: answer,
			custom: (make) => new Promise((done) => {
				pi.screen = make({ requestRender() {} }, theme, {}, done);
				answers.shift(); // how much room there is was said by the extension itself
			}),
		},
	};
}

async function until(condition, what) {
	for (let waited = 0; !condition(); waited += 5) {
		assert.ok(waited < 20_000, `waited in vain for ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

for (const name of readdirSync(FOLDER).filter((file) => file.endsWith(".jsonl"))) {
	test(`the extension and the bridge understand each other: ${name}`, async () => {
		const lines = readFileSync(`${FOLDER}/${name}`, "utf8").replaceAll("VERSION", MANIFEST.version).split("\n");
		const said = (side) => lines.filter((line) => line.startsWith(side)).map((line) => JSON.parse(line.slice(2)));
		const ours = said(">");
		const theirs = said("<");
		const params = (method) => ours.find((message) => message.method === method)?.params;
		const hello = params("hello");
		const bridge = [process.execPath, "replay.mjs", `${FOLDER}/${name}`, MANIFEST.version];
		writeFileSync("tools.json", JSON.stringify({ ...MANIFEST, bridge, protocol: hello.protocol, version: hello.extension }));

		const pi = new FakePi(params("host/tools")?.names ?? []);
		const answers = ours.filter((message) => "result" in message).map((message) => message.result);
		const ctx = context(pi, params("session/start") ?? { sessionId: "any" }, params("host/models")?.models ?? [], answers);
		piSubagents(pi);
		pi.handlers.get("session_start")({ reason: "startup" }, ctx);
		await new Promise(setImmediate); // the bridge is started after pi is ready
		const heard = [];
		for (const message of ours) {
			if (message.method === "tool/call") await callTool(pi, ctx, message, theirs);
			if (message.method === "command/complete") {
				await until(() => pi.did["ui/status"].length, "the bridge");
				const offered = await pi.commands.get(message.params.command).getArgumentCompletions(message.params.prefix);
				assert.deepEqual(offered, theirs.find((one) => one.id === message.id && !one.method).result);
			}
			if (message.method === "command/run") heard.push(pi.commands.get(message.params.command).handler(message.params.arguments, ctx));
			if (message.method === "screen/key") {
				await until(() => pi.screen, "the screen");
				pi.screen.render(80);
				pi.screen.handleInput(KEYS[message.params.key] ?? message.params.key);
			}
		}
		await Promise.all(heard);
		const refusal = theirs.find((message) => message.error)?.error.message;
		const notices = theirs.filter((message) => message.method in pi.did);
		const expected = refusal ? { "ui/notify": [{ message: `pi-subagents: ${refusal}`, level: "error" }] } : {};
		for (const { method, params } of notices) (expected[method] ??= []).push(params);
		for (const [method, list] of Object.entries(expected)) {
			await until(() => pi.did[method].length >= list.length, `${list.length} of ${method}`);
			assert.deepEqual(pi.did[method], list);
		}
		await pi.handlers.get("session_shutdown")({ reason: "quit" });
		// A bridge that heard something else stops with a complaint, of which a person would be told.
		assert.deepEqual(pi.did["ui/notify"].filter((notice) => notice.message.includes("bridge stopped")), []);
	});
}

async function callTool(pi, ctx, { id, params: { call, name, arguments: args } }, theirs) {
	const { result } = theirs.find((message) => message.id === id && "result" in message && !message.method);
	const updates = [];
	const returned = await pi.tools.get(name).execute(call, args, undefined, (partial) => updates.push(partial), ctx);
	assert.deepEqual(returned, {
		content: [{ type: "text", text: result.text }], details: result.details, usage: result.usage ?? undefined,
	});
	// Together the updates say what the result says.
	const last = updates.at(-1)?.details;
	for (const [index, window] of (last?.windows ?? []).entries()) {
		const { lines, allMessages } = result.details.windows[index];
		assert.deepEqual({ lines: window.lines, allMessages: window.allMessages }, { lines, allMessages });
	}
	const hook = pi.handlers.get("tool_result")({ toolCallId: call, toolName: name });
	assert.equal(hook?.isError ?? false, result.isError);
	const painting = pi.tools.get(name).renderResult(returned, { expanded: false, isPartial: false }, theme, { isError: false });
	assert.ok(painting.render(80).length > 0);
}

for (const damaged of ["{", "{}", undefined]) {
	test(`damaged files do not keep pi from starting: ${damaged}`, () => {
		if (damaged === undefined) rmSync("tools.json");
		else writeFileSync("tools.json", damaged);
		const pi = new FakePi([]);
		piSubagents(pi);
		pi.handlers.get("session_start")({ reason: "startup" }, context(pi, { sessionId: "any" }, [], []));
		assert.match(pi.did["ui/notify"][0].message, /^pi-subagents cannot use its tools\.json .*Run: pi-subagents install pi$/);
		assert.equal(pi.tools.size, 0);
	});
}
