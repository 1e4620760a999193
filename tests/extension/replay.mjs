// Stands for the bridge: says what a transcript has it say, once it has heard what comes before. Its exit code is what
// it thinks of the extension, and the last line on standard error is why.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , transcript, version] = process.argv;
const lines = readFileSync(transcript, "utf8").replaceAll("VERSION", version).split("\n").filter((line) => /^[<>]/.test(line));
const NOT_COMPARED = ["cwd", "path", "pi"]; // other on every machine

function difference(expected, heard, at = "") {
	if (typeof expected === "number" && typeof heard?.rows === "number") return difference(expected, heard.rows, at);
	if (typeof expected !== "object" || expected === null || typeof heard !== "object" || heard === null)
		return Object.is(expected, heard) ? "" : `${at}: ${JSON.stringify(heard)} instead of ${JSON.stringify(expected)}`;
	if (Array.isArray(expected) && expected.length !== heard.length) return `${at}: ${JSON.stringify(heard)}`;
	for (const name of Object.keys(expected)) {
		const found = NOT_COMPARED.includes(name) ? "" : difference(expected[name], heard[name], `${at}.${name}`);
		if (found) return found;
	}
	return "";
}

function say() {
	while (lines[0]?.startsWith("<")) process.stdout.write(`${lines.shift().slice(2)}\n`);
}

say();
for await (const line of createInterface({ input: process.stdin })) {
	const heard = JSON.parse(line);
	const expected = lines[0] && JSON.parse(lines[0].slice(2));
	// Every session ends with it, not every transcript.
	if (heard.method === "session/shutdown" && expected?.method !== heard.method) {
		process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: heard.id, result: null })}\n`);
		continue;
	}
	if (!expected && heard.id === undefined) continue; // the transcript is over, the session is not
	const why = expected ? difference(expected, heard) : `nobody expects ${line}`;
	if (why) {
		process.stderr.write(`${why}\n`);
		process.exit(1);
	}
	lines.shift();
	say();
}
