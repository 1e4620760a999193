"""Where things are on the screen, and in which of the theme's colours: side by side, or on top of each other."""

STYLESHEET = """
Screen { layout: vertical; background: $background; }

#title { height: 1; padding: 0 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
#body { height: 1fr; }
#body.-wide { layout: horizontal; }
#body.-narrow { layout: vertical; }

#runs { background: $background; }
.-wide #runs { width: 36%; min-width: 50; max-width: 96; height: 1fr; border-right: vkey $foreground 15%; }
.-narrow #runs { height: 35%; min-height: 4; border-bottom: hkey $foreground 15%; }

#search { display: none; height: 1; border: none; padding: 0 1; background: $boost; }
#search.shown { display: block; }

RunList {
    height: 1fr; scrollbar-size-vertical: 1; scrollbar-background: $background; scrollbar-color: $foreground 20%;
    & > .row--chosen { background: $boost; }
    &:focus > .row--chosen { background: $primary 25%; }
}
#empty { padding: 1 2; height: 1fr; color: $foreground-muted; }

ConversationView { width: 1fr; height: 1fr; }
#header { height: 2; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
Timeline {
    height: 1fr; padding: 0 1; border-left: outer $background;
    scrollbar-size-vertical: 1; scrollbar-background: $background; scrollbar-color: $foreground 20%;
    &:focus { border-left: outer $primary 60%; }
}

#earlier { height: 1; margin-bottom: 1; color: $text-accent; &:focus { text-style: reverse; } }
#blocks { height: auto; min-height: 100%; }
#live { height: auto; margin: 1 0; }
.said { height: auto; padding: 0; margin: 1 0; }
.said > MarkdownH1 { content-align: left middle; }
.said > MarkdownFence { margin: 0 0 1 0; max-height: 40; }
.said > MarkdownBlock:last-of-type { margin-bottom: 0; }
.thought { height: auto; margin: 1 0; color: $foreground-muted; text-style: italic; }
.notice { height: auto; color: $foreground-muted; }
.error { height: auto; margin: 1 0; color: $text-error; }
.label { height: 1; color: $foreground-muted; }
.titled { height: auto; margin: 1 0; padding: 0 1; border-left: thick $primary 50%; background: $boost; }
.titled > Static { height: auto; }

.fold { height: auto; }
.fold.-open { margin-bottom: 1; }
FoldTitle { height: auto; &:focus { background: $primary 25%; } }
.inside { height: auto; padding: 0 1; margin: 0 0 0 2; border-left: solid $foreground 20%; }
.inside > Static { height: auto; }

ModalScreen { align: center middle; background: $background 60%; }
.dialog {
    width: 64; max-width: 90%; height: auto; max-height: 90%; padding: 1 2;
    background: $surface; border: round $primary;
}
.dialog Static { height: auto; }
.buttons { height: auto; margin-top: 1; align-horizontal: right; }
.buttons Button { margin-left: 2; }
.dialog TextArea { height: 5; margin: 1 0; padding: 0 1; border: round $primary 60%; background: $surface; }
StartDialog .dialog { width: 96; }
.dialog OptionList {
    margin: 1 0 0 0; max-height: 35vh; background: $surface; text-wrap: nowrap; text-overflow: ellipsis;
}
.help { width: 72; max-height: 100%; padding: 0 2; scrollbar-size-vertical: 1; }

/* Without colours, what has the focus or is chosen is told by other means. */
FoldTitle:nocolor:focus, #earlier:nocolor:focus { text-style: bold underline; }
OptionList:nocolor > .option-list--option-highlighted { text-style: bold underline; }
"""
