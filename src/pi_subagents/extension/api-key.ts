/**
 * Loaded into a sub-agent whose profile has its own API key.
 *
 * The key arrives as PI_API_KEY, and the private auth.json of this run names a command that prints it. Once the
 * provider's key has been resolved (pi remembers a command's answer for the life of the process) the variable is
 * removed, so that no tool of the agent inherits it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const COMMAND = "!printenv PI_API_KEY";

function claim(provider: string): void {
	const path = join(process.env.PI_CODING_AGENT_DIR ?? "", "auth.json");
	const credentials = JSON.parse(readFileSync(path, "utf8"));
	if (credentials[provider]?.key === COMMAND) return;
	credentials[provider] = { type: "api_key", key: COMMAND };
	writeFileSync(path, JSON.stringify(credentials), { mode: 0o600 });
}

export default function (pi: ExtensionAPI): void {
	pi.on("session_start", async (_event, ctx) => {
		try {
			const provider = ctx.model?.provider;
			if (!provider || !process.env.PI_API_KEY) return;
			claim(provider);
			await ctx.modelRegistry.getApiKeyForProvider(provider);
		} finally {
			delete process.env.PI_API_KEY;
		}
	});
}
