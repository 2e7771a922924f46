// Charts in their places, tables that can be sorted, light and dark, and paper.
(() => {
  "use strict";
  const root = document.documentElement;
  const specs = JSON.parse(document.getElementById("charts").textContent);
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    reportCharts.draw(figure, specs[Number(figure.dataset.chart)]);
  }

  document.querySelectorAll("table.sortable").forEach(reportTables.makeSortable);

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
