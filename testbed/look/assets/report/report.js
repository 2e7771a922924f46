// Charts in their places, tables that can be sorted, light and dark, and paper.
(() => {
  "use strict";
  const root = document.documentElement;
  const specs = JSON.parse(document.getElementById("charts").textContent);
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    reportCharts.draw(figure, specs[Number(figure.dataset.chart)]);
  }

  // -- tables -----------------------------------------------------------------------------------------------------------

  /** What a row is sorted by: a number if its cell has one, otherwise its text. What was not measured comes last. */
  function compare(a, b, sign) {
    if (a.value !== null && b.value !== null) return sign * (a.value - b.value);
    if (a.value !== null || b.value !== null) return a.value !== null ? -1 : 1;
    if ((a.text === "-") !== (b.text === "-")) return a.text === "-" ? 1 : -1;
    return sign * a.text.localeCompare(b.text, "en", { numeric: true });
  }

  function sort(table, column) {
    const heads = [...table.tHead.rows[0].cells];
    const isUp = heads[column].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head, index) => head.setAttribute("aria-sort", index !== column ? "none" : isUp ? "ascending" : "descending"));
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const cell = row.cells[column];
      const value = cell.dataset.value === undefined ? null : Number(cell.dataset.value);
      return { row, value, text: cell.textContent };
    });
    keyed.sort((a, b) => compare(a, b, isUp ? 1 : -1));
    body.append(...keyed.map((one) => one.row));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => sort(table, column));
    });
  }

  // -- colours ----------------------------------------------------------------------------------------------------------

  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  function applied() {
    button.textContent = isDark() ? "Light" : "Dark";
    reportCharts.redrawAll();
  }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    applied();
  });
  prefersDark.addEventListener("change", applied);
  applied();

  // Paper is white: charts are drawn again in the light colours.
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    reportCharts.redrawAll();
  });
  addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    reportCharts.redrawAll();
  });
})();
