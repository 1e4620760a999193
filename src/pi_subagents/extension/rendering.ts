/** How pi shows what is ours in its chat: calls, their results, and notices of background runs. */
import type { ExtensionContext, MessageRenderer, ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { TSchema } from "typebox";
import type { Params } from "./bridge.ts";
import { callLine, type Details, type Line, Painting } from "./painting.ts";

const ENDED = "pi-subagents:bg-update";

/** The rows of background runs: each was painted when its run was launched and is painted anew when it ends. */
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

export function toolRendering(
	name: string,
	background: BackgroundRows,
): Pick<ToolDefinition<TSchema, Details>, "renderCall" | "renderResult"> {
	const painting = (last: unknown) => (last as Painting | undefined) ?? new Painting();
	return {
		renderCall: (args, theme, context) =>
			painting(context.lastComponent).show(theme, (painter) => [painter.cut(callLine(name, args))]),
		renderResult: (result, options, theme, context) =>
			painting(context.lastComponent).show(theme, (painter) => {
				const { windows, view } = result.details ?? {};
				if (windows?.length) return painter.windows(result.details, options.expanded);
				const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
				const now = background.rowsOf(result.details, context.invalidate);
				const rows = now ?? (options.expanded && !options.isPartial ? view?.more : view?.rows);
				if (rows) return painter.rows(rows, options.expanded);
				return painter.text(text, context.isError ? "error" : "text", options.expanded);
			}),
	};
}

export const noticeRendering: MessageRenderer<Details> = (message, options, theme) =>
	new Painting().show(theme, (painter) => {
		const text = typeof message.content === "string" ? message.content : "";
		const lines = text.split("\n").map((line): Line => [["text", line]]);
		const rows = message.details?.view?.rows ?? lines;
		const shown = options.expanded ? [...rows.slice(0, 1), ...lines.slice(1)] : rows;
		const indent = " ".repeat(options.outputPad);
		return [painter.cut([["title", "pi-subagents"]], indent), ...shown.flatMap((row) => painter.wrap(row, indent))];
	});
