// The chart in which a reader chooses a metric, the x axis, and what the lines or bars stand for.
const reportExplorer = (() => {
  "use strict";
  const { element } = reportCharts;
  const NONE = -1;
  // What a reader has chosen. Until then it is null, and `now` has what suits the data.
  const chosen = { measure: null, x: null, hue: null, where: new Map(), logX: null, logY: false };
  let data, varied, now;

  const controls = element("div", undefined, "controls noprint");
  const filters = element("div", undefined, "controls noprint");
  const figure = element("figure", undefined, "chart wide");
  const caption = element("figcaption");
  figure.append(caption);
  const boxes = new Map();  // the controls by their names
  let drawn = { text: "", series: [], remove: () => {} };

  const valuesOf = (axis, points) => {
    const found = [...new Set(points.map((point) => point.at[axis]))];
    return data.axes[axis].isNumeric ? found.sort((a, b) => a - b) : found;
  };

  /** What is shown: what a reader has chosen, or else the axis of numbers with the most values and the first other one. */
  function choose() {
    const count = (axis) => valuesOf(axis, data.points).length;
    varied = data.axes.map((_, axis) => axis).filter((axis) => count(axis) > 1);
    const numeric = varied.filter((axis) => data.axes[axis].isNumeric);
    const mostValues = numeric.reduce((best, axis) => (best === NONE || count(axis) > count(best) ? axis : best), NONE);
    const usual = mostValues !== NONE ? mostValues : varied.length > 1 ? varied[1] : varied[0] ?? 0;
    const measure = data.measures.findIndex((one) => one.key === chosen.measure);
    const x = chosen.x ?? usual;
    const other = varied.find((axis) => axis !== x) ?? NONE;
    const hue = chosen.hue === null || chosen.hue === x ? other : chosen.hue;
    now = { measure: measure >= 0 ? measure : data.first, x, hue };
  }

  // -- controls ---------------------------------------------------------------------------------------------------------

  /** A control of that name. It is made once, since a reader may have it open when there are more values to choose from. */
  function control(name, make) {
    if (!boxes.has(name)) boxes.set(name, make());
    return boxes.get(name);
  }

  function select(name, entries, value, changed) {
    const one = control(name, () => {
      const whole = element("div", undefined, "control");
      const label = element("label", name);
      const box = element("select");
      label.htmlFor = box.id = `explore-${name.replace(/[^a-z]/gi, "-")}`;
      box.addEventListener("change", () => { whole.changed(box.value); show(); });
      whole.append(label, box);
      return whole;
    });
    one.changed = changed;
    const box = one.lastChild;
    const texts = JSON.stringify(entries);
    if (one.texts !== texts) {
      one.texts = texts;
      box.replaceChildren(...entries.map(([key, text]) => {
        const option = element("option", text);
        option.value = String(key);
        return option;
      }));
    }
    box.value = String(value);
    return one;
  }

  function checkbox(name, isOn, changed) {
    const one = control(name, () => {
      const label = element("label", undefined, "check");
      const box = element("input");
      box.type = "checkbox";
      box.addEventListener("change", () => { changed(box.checked); show(); });
      label.append(box, document.createTextNode(` ${name}`));
      return label;
    });
    one.firstChild.checked = isOn;
    return one;
  }

  /** Puts controls into a row, unless they are there: moving one would close it. */
  function lay(row, wanted) {
    const focused = document.activeElement;
    if (wanted.length !== row.children.length || wanted.some((one, at) => one !== row.children[at])) row.replaceChildren(...wanted);
    if (focused !== document.activeElement && row.contains(focused)) focused.focus();
    row.hidden = wanted.length === 0;
  }

  const axisEntries = () => (varied.length ? varied : [0]).map((axis) => [axis, data.axes[axis].label]);

  function mainControls(spec) {
    const measures = data.measures.map((measure, index) => [index, measure.label]);
    const hues = [[NONE, "nothing"], ...axisEntries().filter(([axis]) => axis !== now.x)];
    const made = [
      select("metric", measures, now.measure, (value) => { chosen.measure = data.measures[Number(value)].key; }),
      select("x axis", axisEntries(), now.x, (value) => Object.assign(chosen, { x: Number(value), hue: now.hue, logX: null })),
      select("told apart", hues, now.hue, (value) => Object.assign(chosen, { x: now.x, hue: Number(value) })),
    ];
    if (spec.canLogX) made.push(checkbox("log x", spec.logX, (isOn) => { chosen.logX = isOn; }));
    if (spec.canLogY) made.push(checkbox("log y", spec.logY, (isOn) => { chosen.logY = isOn; }));
    return made;
  }

  // -- the chart --------------------------------------------------------------------------------------------------------

  /** Whether the values on two axes decide the value on a third, as where keys are varied together. */
  function isDecided(axis, points) {
    const seen = new Map();
    return points.every((point) => {
      const key = JSON.stringify([point.at[now.x], now.hue === NONE ? null : point.at[now.hue]]);
      if (!seen.has(key)) seen.set(key, point.at[axis]);
      return seen.get(key) === point.at[axis];
    });
  }

  /** The points of the chart: of every other axis one value, which a reader can choose. */
  function filtered() {
    let points = data.points;
    const made = [];
    data.axes.forEach((axis, index) => {
      if (index === now.x || index === now.hue || isDecided(index, points)) return;
      const values = valuesOf(index, points);
      const wanted = values.includes(chosen.where.get(index)) ? chosen.where.get(index) : values[0];
      const entries = values.map((value, at) => [at, String(value)]);
      made.push(select(axis.label, entries, values.indexOf(wanted), (at) => chosen.where.set(index, values[Number(at)])));
      points = points.filter((point) => point.at[index] === wanted);
    });
    return { points, made };
  }

  function specOf(points) {
    const xs = valuesOf(now.x, points);
    const hues = now.hue === NONE ? [null] : valuesOf(now.hue, points);
    const isScale = data.axes[now.x].isNumeric && xs.length > 1;
    const measure = data.measures[now.measure];
    const at = (value, hue) => points.find((point) => point.at[now.x] === value && (hue === null || point.at[now.hue] === hue));
    const numbers = (hue) => xs.map((value) => { const point = at(value, hue); return (point && point.values[now.measure]) || [null, null]; });
    const canLogX = isScale && xs[0] > 0 && xs[xs.length - 1] / xs[0] >= 10;
    const series = hues.map((hue) => ({
      label: hue === null ? measure.label : String(hue),
      values: numbers(hue).map((pair) => pair[0]),
      halves: numbers(hue).map((pair) => pair[1]),
    })).filter((one) => one.values.some((value) => value !== null));
    const canLogY = isScale && series.length > 0 && series.every((one) => one.values.every((value) => value === null || value > 0));
    return {
      title: `${measure.label} by ${data.axes[now.x].label}`,
      kind: isScale ? "lines" : "bars",
      isStudy: true,
      xLabel: data.axes[now.x].label,
      yLabel: measure.label,
      x: isScale ? xs : xs.map(String),
      series,
      canLogX,
      canLogY,
      logX: canLogX && (chosen.logX ?? xs[xs.length - 1] / xs[0] >= 50),
      logY: canLogY && chosen.logY,
    };
  }

  /** Shows what is chosen. If only the data are new, a reader goes on with the same lines, numbers and focus. */
  function show(isUpdate = false) {
    choose();
    const { points, made } = filtered();
    const spec = specOf(points);
    lay(controls, mainControls(spec));
    lay(filters, made);
    const where = made.map((one) => `${one.firstChild.textContent} ${one.lastChild.selectedOptions[0].textContent}`);
    const failed = points.filter((point) => point.failed.length).length;
    caption.setAttribute("aria-live", isUpdate ? "off" : "polite");  // what a reader chooses is said, not what comes in
    const title = [spec.title, ...where].join(", ") + (failed ? ` (checks failed at ${failed} of these points)` : "");
    if (caption.textContent !== title) caption.textContent = title;
    const text = JSON.stringify(spec);
    if (isUpdate && text === drawn.text) return;
    draw(spec, text, isUpdate);
  }

  function draw(spec, text, isUpdate) {
    const before = drawn;
    const reading = isUpdate ? before.remove.reading?.() : undefined;
    const hidden = isUpdate ? before.series.filter((one) => one.isHidden).map((one) => one.label) : [];
    for (const one of spec.series) if (hidden.includes(one.label)) one.isHidden = true;
    // The new one comes before the old one goes, so that the page is never shorter meanwhile, and stays where it is.
    const remove = spec.series.length ? reportCharts.draw(figure, spec, reading) : nothing();
    before.remove();
    drawn = { text, series: spec.series, remove };
  }

  function nothing() {
    const line = element("p", "Nothing was measured here.", "missing");
    figure.append(line);
    return () => line.remove();
  }

  /** Shows these data, in the place that the page has for them. */
  function update(newData) {
    const place = document.getElementById("explore");
    if (!newData || !place) return;
    data = newData;
    if (!place.contains(figure)) place.append(controls, filters, figure);
    show(drawn.text !== "");
  }

  update(JSON.parse(document.getElementById("explorer").textContent));
  return { update };
})();
