// Cells: parts of a script that begin with a line "# %%" (the percent format of editors and Jupytext).

const HEAD = /^#\s*%%(.*)$/;

/** Whether a line begins a cell. */
export const isHead = (line) => HEAD.test(line);

/** [[first, last], ...] lines of the cells, counted from 1; a text without a mark is one cell. */
export function cellsOf(text) {
  const lines = text.split("\n");
  const starts = lines.flatMap((line, index) => (isHead(line) ? [index + 1] : []));
  if (starts[0] !== 1) starts.unshift(1);
  const cells = starts.map((start, index) => [start, (starts[index + 1] ?? lines.length + 1) - 1]);
  // what stands before the first mark is a cell if there is anything
  const [first, last] = cells[0];
  if (
    cells.length > 1 &&
    !isHead(lines[0]) &&
    !lines
      .slice(first - 1, last)
      .join("")
      .trim()
  )
    cells.shift();
  return cells;
}

/** Whether a text is divided into cells. */
export const hasCells = (text) => text.split("\n").some(isHead);

/** The cell that a line is in, as an index. */
export function cellAt(cells, line) {
  const found = cells.findIndex(([first, last]) => line >= first && line <= last);
  return Math.max(found, 0);
}

/** The text of a script from a notebook (.ipynb): cells of code and, as comments, of text. */
export function fromNotebook(json) {
  let notebook;
  try {
    notebook = JSON.parse(json);
  } catch {
    throw new Error("This file is no notebook: a notebook is JSON.");
  }
  // nbformat 3 has its cells in worksheets, and their text in "input"
  const cells = notebook.cells ?? notebook.worksheets?.flatMap((sheet) => sheet.cells);
  if (!Array.isArray(cells)) throw new Error("This file is no notebook: it has no cells.");
  const whole = (part) => (Array.isArray(part) ? part.join("") : (part ?? "")).trimEnd();
  const parts = [];
  for (const cell of cells) {
    const text = whole(cell.source ?? cell.input);
    if (!text.trim()) continue;
    if (cell.cell_type === "code") parts.push(`# %%\n${text.split("\n").map(withoutMagic).join("\n")}`);
    else
      parts.push(
        `# %% [markdown]\n${text
          .split("\n")
          .map((line) => `# ${line}`.trimEnd())
          .join("\n")}`,
      );
  }
  return parts.join("\n\n") + "\n";
}

/** IPython's commands are no Python: they stay as comments. */
const withoutMagic = (line) => (/^\s*[%!]/.test(line) ? `# ${line}` : line);
