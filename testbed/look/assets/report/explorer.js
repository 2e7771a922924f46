// The chart in which a reader chooses a metric, the x axis, and what the lines or bars stand for.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("explorer").textContent);
  const place = document.getElementById("explore");
  if (!data || !place) return;
  const { element } = reportCharts;
  const NONE = -1;

  const valuesOf = (axis, points) => {
    const found = [...new Set(points.map((point) => point.at[axis]))];
    return data.axes[axis].isNumeric ? found.sort((a, b) => a - b) : found;
  };
  const varied = data.axes.map((_, axis) => axis).filter((axis) => valuesOf(axis, data.points).length > 1);
  const numeric = varied.filter((axis) => data.axes[axis].isNumeric);
  const count = (axis) => valuesOf(axis, data.points).length;
  const mostValues = numeric.reduce((best, axis) => (best === NONE || count(axis) > count(best) ? axis : best), NONE);
  const x = mostValues !== NONE ? mostValues : varied.length > 1 ? varied[1] : varied[0] ?? 0;
  const chosen = { measure: data.first, x, hue: varied.find((axis) => axis !== x) ?? NONE, where: new Map(), logX: null, logY: false };

  const controls = element("div", undefined, "controls noprint");
  const filters = element("div", undefined, "controls noprint");
  const figure = element("figure", undefined, "chart wide");
  const caption = element("figcaption");
  caption.setAttribute("aria-live", "polite");
  figure.append(caption);
  place.append(controls, filters, figure);
  let remove = () => {};

  function select(name, entries, value, changed) {
    const control = element("div", undefined, "control");
    const label = element("label", name);
    const box = element("select");
    label.htmlFor = box.id = `explore-${name.replace(/[^a-z]/gi, "-")}`;
    for (const [key, text] of entries) {
      const option = element("option", text);
      option.value = String(key);
      box.append(option);
    }
    box.value = String(value);
    box.addEventListener("change", () => { changed(box.value); show(); });
    control.append(label, box);
    return control;
  }

  function checkbox(name, isOn, changed) {
    const label = element("label", undefined, "check");
    const box = element("input");
    box.type = "checkbox";
    box.checked = isOn;
    box.addEventListener("change", () => { changed(box.checked); show(); });
    label.append(box, document.createTextNode(` ${name}`));
    return label;
  }

  const axisEntries = () => (varied.length ? varied : [0]).map((axis) => [axis, data.axes[axis].label]);

  /** Whether the values on two axes decide the value on a third, as where keys are varied together. */
  function isDecided(axis, points) {
    const seen = new Map();
    return points.every((point) => {
      const key = JSON.stringify([point.at[chosen.x], chosen.hue === NONE ? null : point.at[chosen.hue]]);
      if (!seen.has(key)) seen.set(key, point.at[axis]);
      return seen.get(key) === point.at[axis];
    });
  }

  /** The points of the chart: of every other axis one value, which a reader can choose. */
  function filtered() {
    let points = data.points;
    const made = [];
    data.axes.forEach((axis, index) => {
      if (index === chosen.x || index === chosen.hue || isDecided(index, points)) return;
      const values = valuesOf(index, points);
      const wanted = values.includes(chosen.where.get(index)) ? chosen.where.get(index) : values[0];
      const entries = values.map((value, at) => [at, String(value)]);
      made.push(select(axis.label, entries, values.indexOf(wanted), (at) => chosen.where.set(index, values[Number(at)])));
      points = points.filter((point) => point.at[index] === wanted);
    });
    return { points, made };
  }

  function specOf(points) {
    const xs = valuesOf(chosen.x, points);
    const hues = chosen.hue === NONE ? [null] : valuesOf(chosen.hue, points);
    const isScale = data.axes[chosen.x].isNumeric && xs.length > 1;
    const measure = data.measures[chosen.measure];
    const at = (value, hue) => points.find((point) => point.at[chosen.x] === value && (hue === null || point.at[chosen.hue] === hue));
    const numbers = (hue) => xs.map((value) => { const point = at(value, hue); return (point && point.values[chosen.measure]) || [null, null]; });
    const canLogX = isScale && xs[0] > 0 && xs[xs.length - 1] / xs[0] >= 10;
    const series = hues.map((hue) => ({
      label: hue === null ? measure.label : String(hue),
      values: numbers(hue).map((pair) => pair[0]),
      halves: numbers(hue).map((pair) => pair[1]),
    })).filter((one) => one.values.some((value) => value !== null));
    const canLogY = isScale && series.length > 0 && series.every((one) => one.values.every((value) => value === null || value > 0));
    return {
      title: `${measure.label} by ${data.axes[chosen.x].label}`,
      kind: isScale ? "lines" : "bars",
      isStudy: true,
      xLabel: data.axes[chosen.x].label,
      yLabel: measure.label,
      x: isScale ? xs : xs.map(String),
      series,
      canLogX,
      canLogY,
      logX: canLogX && (chosen.logX ?? xs[xs.length - 1] / xs[0] >= 50),
      logY: canLogY && chosen.logY,
    };
  }

  function show() {
    if (chosen.hue === chosen.x) chosen.hue = varied.find((axis) => axis !== chosen.x) ?? NONE;
    const focused = [...place.querySelectorAll("select, input")].indexOf(document.activeElement);
    const { points, made } = filtered();
    const spec = specOf(points);
    const measures = data.measures.map((measure, index) => [index, measure.label]);
    const hues = [[NONE, "nothing"], ...axisEntries().filter(([axis]) => axis !== chosen.x)];
    controls.replaceChildren(
      select("metric", measures, chosen.measure, (value) => { chosen.measure = Number(value); }),
      select("x axis", axisEntries(), chosen.x, (value) => { chosen.x = Number(value); chosen.logX = null; }),
      select("told apart", hues, chosen.hue, (value) => { chosen.hue = Number(value); }),
    );
    if (spec.canLogX) controls.append(checkbox("log x", spec.logX, (isOn) => { chosen.logX = isOn; }));
    if (spec.canLogY) controls.append(checkbox("log y", spec.logY, (isOn) => { chosen.logY = isOn; }));
    filters.replaceChildren(...made);
    filters.hidden = made.length === 0;
    remove();
    const where = made.map((control) => `${control.firstChild.textContent} ${control.lastChild.selectedOptions[0].textContent}`);
    const failed = points.filter((point) => point.failed.length).length;
    caption.textContent = [spec.title, ...where].join(", ") + (failed ? ` (checks failed at ${failed} of these points)` : "");
    remove = spec.series.length ? reportCharts.draw(figure, spec) : nothing();
    if (focused >= 0) place.querySelectorAll("select, input")[focused]?.focus();
  }

  function nothing() {
    const line = element("p", "Nothing was measured here.", "missing");
    figure.append(line);
    return () => line.remove();
  }

  show();
})();
