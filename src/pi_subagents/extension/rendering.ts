/** How pi shows what is ours in its chat: calls, their results, and notices of runs in the background. */
import type { MessageRenderer, ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { TSchema } from "typebox";
import type { BackgroundRows } from "./background.ts";
import { callLine, type Details, type Line, Painting } from "./painting.ts";

export function toolRendering(
	name: string,
	background: BackgroundRows,
): Pick<ToolDefinition<TSchema, Details>, "renderCall" | "renderResult"> {
	return {
		renderCall: (args, theme, context) => {
			const painting = (context.lastComponent as Painting | undefined) ?? new Painting();
			return painting.show(theme, (painter) => [painter.cut(callLine(name, args))]);
		},
		renderResult: (result, options, theme, context) => {
			const painting = (context.lastComponent as Painting | undefined) ?? new Painting();
			return painting.show(theme, (painter) => {
				const { windows, view } = result.details ?? {};
				if (windows?.length) return painter.windows(result.details, options.expanded);
				const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
				const now = background.rowsOf(result.details, context.invalidate);
				const rows = now ?? (options.expanded && !options.isPartial ? view?.more : view?.rows);
				if (rows) return painter.rows(rows, options.expanded);
				return painter.text(text, context.isError ? "error" : "text", options.expanded);
			});
		},
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
