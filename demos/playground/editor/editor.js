// The Playground's editor: the demos' one with completion, search, cells and a context for each keystroke.
// build.py bundles this file.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Prec, RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, keymap, ViewPlugin } from "@codemirror/view";
import { createEditor } from "../../shared/editor.js";
import { isHead } from "../cells.js";
import { Names } from "./names.js";
import { completionSource, signatureHelp } from "./complete.js";

const head = Decoration.line({ class: "cell-head" });

const cellHeads = ViewPlugin.fromClass(
  class {
    constructor(view) {
      this.decorations = this.find(view);
    }
    update(update) {
      if (update.docChanged || update.viewportChanged) this.decorations = this.find(update.view);
    }
    find(view) {
      const builder = new RangeSetBuilder();
      for (const { from, to } of view.visibleRanges) {
        for (let at = from; at <= to;) {
          const line = view.state.doc.lineAt(at);
          if (isHead(line.text)) builder.add(line.from, line.from, head);
          at = line.to + 1;
        }
      }
      return builder.finish();
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

/** `table` is a promise of the names (names.json), `members(dotted)` asks Python; `keys` are CodeMirror's bindings. */
export function createPlaygroundEditor(parent, { text, label, onRun, onChange, keys, table, members }) {
  const names = new Names(table, members);
  const editor = createEditor(parent, {
    text,
    label,
    onRun,
    extensions: [
      Prec.highest(keymap.of(keys)),
      autocompletion({ override: [completionSource(names)], icons: false, maxRenderedOptions: 60 }),
      signatureHelp(names),
      closeBrackets(),
      search({ top: true }),
      highlightSelectionMatches({ minSelectionLength: 2 }),
      cellHeads,
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...searchKeymap]),
      EditorView.updateListener.of((update) => update.docChanged && onChange()),
    ],
  });
  const { view } = editor;
  return {
    view,
    get text() {
      return editor.text;
    },
    set text(value) {
      editor.text = value;
    },
    mark: (line) => editor.mark(line),
    focus: () => editor.focus(),
    /** The cursor's line, counted from 1. */
    get line() {
      return view.state.doc.lineAt(view.state.selection.main.head).number;
    },
    set line(number) {
      const { from } = view.state.doc.line(Math.min(number, view.state.doc.lines));
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "nearest" }) });
    },
  };
}
