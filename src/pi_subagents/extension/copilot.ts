/** Loaded into sub-agents: tells GitHub Copilot that an agent asks and not a person, which it counts differently. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI): void {
	pi.on("before_provider_headers", (event, ctx) => {
		if (ctx.model?.provider === "github-copilot") event.headers["X-Initiator"] = "agent";
	});
}
