/** What the bridge asks of a person: dialogs one after the other, and one screen in the place of the editor. */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Params } from "./bridge.ts";
import { type Outcome, Screen, screenSize } from "./screen.ts";

export class Dialogs {
	private readonly notify: (method: string, params: Params) => void;
	private last: Promise<unknown> = Promise.resolve();
	private screen: Screen | undefined;

	constructor(notify: (method: string, params: Params) => void) {
		this.notify = notify;
	}

	/** A request; in a mode without dialogs pi answers that nobody did. */
	async answer(ctx: ExtensionContext, method: string, params: Params, signal: AbortSignal): Promise<unknown> {
		const { title, options, message, placeholder, text } = params;
		switch (method) {
			case "dialog/select":
				return this.ask(signal, () => ctx.ui.select(title, options, { signal }));
			case "dialog/confirm":
				return (await this.ask(signal, () => ctx.ui.confirm(title, message, { signal }))) ?? false;
			case "dialog/input": {
				// The terminal shows no placeholder.
				const asked = ctx.mode === "tui" && placeholder ? `${title} (${placeholder})` : title;
				return this.ask(signal, () => ctx.ui.input(asked, placeholder, { signal }));
			}
			case "dialog/editor":
				return this.ask(signal, () => Promise.race([ctx.ui.editor(title, text), aborted(signal)]));
			case "screen/open":
				return ctx.mode === "tui" && this.open(ctx, params);
			default:
				throw new Error(`The extension does not know ${method}.`);
		}
	}

	/** A notification about the screen. */
	take(method: string, params: Params): void {
		if (this.screen?.id !== params.screen) return;
		if (method === "screen/rows") this.screen?.show(params);
		else if (method === "screen/close") this.screen?.close();
	}

	close(): void {
		this.screen?.close();
	}

	/** A second dialog would take the place of the first, which then never ends. */
	private ask<T>(signal: AbortSignal, dialog: () => Promise<T>): Promise<T | undefined> {
		const answer = this.last.then(() => {
			if (signal.aborted) return undefined;
			this.screen?.aside();
			return dialog();
		});
		this.last = answer.catch(() => {});
		return answer;
	}

	private open(ctx: ExtensionContext, params: Params): Params {
		this.screen?.close();
		const screen = new Screen(params, (key, size) => this.notify("screen/key", { screen: screen.id, key, ...size }));
		this.screen = screen;
		this.keepOpen(ctx, screen).catch(() => {});
		const { height, columns } = screenSize();
		return { rows: height, columns };
	}

	private async keepOpen(ctx: ExtensionContext, screen: Screen): Promise<void> {
		try {
			while (!screen.isClosed) {
				const outcome = await ctx.ui.custom<Outcome>((tui, theme, _keys, done) => screen.attach(tui, theme, done));
				if (outcome !== "aside" && !screen.isClosed) {
					screen.isClosed = true;
					this.notify("screen/closed", { screen: screen.id });
				}
				await this.last; // the dialog that it made room for
			}
		} finally {
			if (this.screen === screen) this.screen = undefined;
		}
	}
}

function aborted(signal: AbortSignal): Promise<undefined> {
	return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}
