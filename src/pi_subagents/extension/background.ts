/** The rows of runs in the background: each was painted when its run was launched and is painted anew when it ends. */
import type { ExtensionContext, SessionManager } from "@earendil-works/pi-coding-agent";
import type { Params } from "./bridge.ts";
import type { Details, Line } from "./painting.ts";

const ENDED = "pi-subagents:bg-update";

export class BackgroundRows {
	private readonly ended = new Map<string, Line[]>();
	private readonly repaint = new Map<string, () => void>();

	/** What the session's own log says; after /reload its rows were painted before it could be read. */
	open(ctx: ExtensionContext): void {
		for (const entry of ctx.sessionManager.getEntries()) {
			if (entry.type === "custom") this.take(entry.customType, entry.data);
		}
	}

	/** An entry of the log; those that say nothing of an end are passed over. */
	take(type: string, data: unknown): void {
		const { runId, view } = (data ?? {}) as Params;
		if (type !== ENDED || typeof runId !== "string" || !Array.isArray(view?.rows)) return;
		this.ended.set(runId, view.rows);
		this.repaint.get(runId)?.();
	}

	/** How the run that a result is about has ended; `repaint` is called as soon as there is something to say. */
	rowsOf(details: Details | undefined, repaint: () => void): Line[] | undefined {
		const runId = (details?.run as Params | undefined)?.runId;
		if (typeof runId !== "string") return undefined;
		this.repaint.set(runId, repaint);
		return this.ended.get(runId);
	}
}

/** Adds what a run in the background has spent to pi's totals; pi has no other way to count what belongs to no call. */
export function countSpend(ctx: ExtensionContext, key: string, { provider, model, usage }: Params): void {
	const manager = ctx.sessionManager as Partial<SessionManager>; // to extensions pi shows it as read-only
	manager.appendUsage?.(key, provider, model, usage);
}
