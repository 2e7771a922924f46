// Draws charts with uPlot. Lines differ in colour, dashes and markers, bars in colour and hatching, so that a reader needs
// no colour; arrow keys read the values, and every chart has its numbers as a table.
const reportCharts = (() => {
  "use strict";

  const COLOURS = ["--c1", "--c2", "--c3", "--c6", "--c7", "--c4", "--c5"];
  const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [12, 4]];
  const MARKERS = ["circle", "square", "triangle", "diamond", "cross", "down"];
  const HEIGHT = 280;
  const FONT = '12px system-ui, "Segoe UI", Roboto, sans-serif';
  const NAME_LENGTH = 22;
  const drawn = new Set();

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colourOf = (series, index) => css(series.look === "bound" ? "--muted" : COLOURS[index % COLOURS.length]);
  const dashOf = (series, index) => (series.look === "bound" ? [4, 4] : DASHES[index % DASHES.length]);
  const markerOf = (index) => MARKERS[index % MARKERS.length];

  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  /** A number as the tables of the report show it: four digits, no power of ten where there is room. */
  const format = (value) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toPrecision(3);
    return size < 1000 ? String(Number(value.toPrecision(4))) : String(Math.round(value));
  };
  const withInterval = (series, at) => {
    const half = series.halves ? series.halves[at] : null;
    return format(series.values[at]) + (half === null || half === undefined ? "" : ` ± ${format(half)}`);
  };
  const short = (name) => (name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH - 1)}…` : name);

  // -- shapes -----------------------------------------------------------------------------------------------------------

  function marker(context, shape, x, y, size) {
    const half = size / 2;
    context.beginPath();
    if (shape === "circle") context.arc(x, y, half, 0, 2 * Math.PI);
    else if (shape === "square") context.rect(x - half, y - half, size, size);
    else if (shape === "cross") {
      context.moveTo(x - half, y - half); context.lineTo(x + half, y + half);
      context.moveTo(x + half, y - half); context.lineTo(x - half, y + half);
    } else {
      const corners = {
        triangle: [[0, -1], [1, 0.8], [-1, 0.8]],
        down: [[0, 1], [1, -0.8], [-1, -0.8]],
        diamond: [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
      }[shape];
      corners.forEach(([dx, dy], index) => context[index ? "lineTo" : "moveTo"](x + dx * half, y + dy * half));
      context.closePath();
    }
    if (shape !== "cross") context.fill();
    context.stroke();
  }

  /** The filling of bars: plain for the first series, hatched in another way for each of the others. */
  function hatching(context, colour, index, ratio) {
    if (index === 0) return colour;
    const side = 8 * ratio;
    const tile = document.createElement("canvas");
    tile.width = tile.height = side;
    const pen = tile.getContext("2d");
    pen.globalAlpha = 0.25;
    pen.fillStyle = colour;
    pen.fillRect(0, 0, side, side);
    pen.globalAlpha = 1;
    pen.strokeStyle = colour;
    pen.lineWidth = 1.6 * ratio;
    pen.beginPath();
    const kind = (index - 1) % 6;
    if (kind === 0 || kind === 4) { pen.moveTo(0, side); pen.lineTo(side, 0); }
    if (kind === 1 || kind === 4) { pen.moveTo(0, 0); pen.lineTo(side, side); }
    if (kind === 2 || kind === 5) { pen.moveTo(0, side / 2); pen.lineTo(side, side / 2); }
    if (kind === 3 || kind === 5) { pen.moveTo(side / 2, 0); pen.lineTo(side / 2, side); }
    pen.stroke();
    return context.createPattern(tile, "repeat");
  }

  function whisker(context, x, low, high, cap) {
    context.beginPath();
    context.moveTo(x, low); context.lineTo(x, high);
    context.moveTo(x - cap, low); context.lineTo(x + cap, low);
    context.moveTo(x - cap, high); context.lineTo(x + cap, high);
    context.stroke();
  }

  // -- what is drawn over uPlot's lines ---------------------------------------------------------------------------------

  function clipped(plot, draw) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left - 6, bbox.top - 6, bbox.width + 12, bbox.height + 12);
    ctx.clip();
    draw(ctx, uPlot.pxRatio);
    ctx.restore();
  }

  function drawMarks(plot, spec) {
    clipped(plot, (context, ratio) => {
      context.strokeStyle = context.fillStyle = css("--muted");
      context.lineWidth = ratio;
      context.setLineDash([3 * ratio, 4 * ratio]);
      context.font = `${11 * ratio}px system-ui, sans-serif`;
      context.textAlign = "left";
      context.textBaseline = "alphabetic";
      let free = -Infinity;  // labels do not overlap; one for which there is no room is in the table
      for (const mark of spec.marks || []) {
        const x = plot.valToPos(mark.x, "x", true);
        if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) continue;
        context.beginPath();
        context.moveTo(x, plot.bbox.top);
        context.lineTo(x, plot.bbox.top + plot.bbox.height);
        context.stroke();
        const width = context.measureText(mark.label).width;
        const start = x + width + 6 * ratio > plot.bbox.left + plot.bbox.width ? x - width - 4 * ratio : x + 4 * ratio;
        if (start < free) continue;
        context.fillText(mark.label, start, plot.bbox.top + 10 * ratio);
        free = start + width + 8 * ratio;
      }
    });
  }

  function drawLineDetails(plot, spec) {
    clipped(plot, (context, ratio) => {
      spec.series.forEach((series, index) => {
        if (!plot.series[index + 1].show || series.look === "bound") return;
        context.strokeStyle = colourOf(series, index);
        context.setLineDash([]);
        const xs = plot.data[0];
        const places = xs.map((x) => plot.valToPos(x, "x", true));
        if (series.halves) {
          context.lineWidth = 1.3 * ratio;
          series.values.forEach((value, at) => {
            const half = series.halves[at];
            if (value === null || half === null || half === undefined) return;
            const low = plot.valToPos(lowEnd(spec, value, half), "y", true);
            whisker(context, places[at], low, plot.valToPos(value + half, "y", true), 4 * ratio);
          });
        }
        if (series.look === "each") return;
        // A marker at every point if there is room, otherwise about ten, at other places for each series.
        const step = xs.length <= 40 ? 1 : Math.ceil(xs.length / 10);
        context.fillStyle = css("--back");
        context.lineWidth = 1.5 * ratio;
        for (let at = step === 1 ? 0 : Math.floor((step * (index + 0.5)) / spec.series.length) % step; at < xs.length; at += step) {
          const value = series.values[at];
          if (value === null || value === undefined) continue;
          marker(context, markerOf(index), places[at], plot.valToPos(value, "y", true), 7 * ratio);
        }
      });
    });
  }

  /** On a log axis an interval may go below 0; it ends at the lower edge. */
  const lowEnd = (spec, value, half) => (spec.logY && value - half <= 0 ? spec.floor : value - half);

  function drawBars(plot, spec) {
    clipped(plot, (context, ratio) => {
      const shown = spec.series.map((_, index) => index).filter((index) => plot.series[index + 1].show);
      const slot = plot.valToPos(1, "x", true) - plot.valToPos(0, "x", true);
      const gap = slot > 12 * ratio ? 0.28 : 0.1;
      const width = Math.min((slot * (1 - gap)) / Math.max(1, shown.length), 64 * ratio);
      const zero = plot.valToPos(0, "y", true);
      shown.forEach((index, place) => {
        const series = spec.series[index];
        const colour = colourOf(series, index);
        const filling = hatching(context, colour, index, ratio);
        series.values.forEach((value, at) => {
          if (value === null || value === undefined) return;
          const x = plot.valToPos(at, "x", true) + (place - (shown.length - 1) / 2) * width;
          const y = plot.valToPos(value, "y", true);
          context.fillStyle = filling;
          context.fillRect(x - width / 2, Math.min(y, zero), width * (width > 6 * ratio ? 0.94 : 1), Math.abs(zero - y));
          if (index > 0) {
            context.strokeStyle = colour;
            context.lineWidth = ratio;
            context.strokeRect(x - width / 2, Math.min(y, zero), width * 0.94, Math.abs(zero - y));
          }
          const half = series.halves ? series.halves[at] : null;
          if (half !== null && half !== undefined) {
            context.strokeStyle = css("--front");
            context.lineWidth = 1.3 * ratio;
            const cap = Math.min(width / 4, 6 * ratio);
            whisker(context, x - width * 0.03, plot.valToPos(value - half, "y", true), plot.valToPos(value + half, "y", true), cap);
          }
        });
      });
      context.strokeStyle = css("--front");
      context.lineWidth = ratio;
      context.beginPath();
      context.moveTo(plot.bbox.left, zero);
      context.lineTo(plot.bbox.left + plot.bbox.width, zero);
      context.stroke();
    });
  }

  // -- scales -----------------------------------------------------------------------------------------------------------

  /** The ends of the y axis: with all intervals, and with 0 unless all values are far from it. */
  function yRange(spec) {
    const lows = [], highs = [];
    for (const series of spec.series) {
      series.values.forEach((value, at) => {
        if (value === null || value === undefined) return;
        const half = (series.halves && series.halves[at]) || 0;
        lows.push(value - half);
        highs.push(value + half);
      });
    }
    const low = lows.reduce((a, b) => Math.min(a, b), Infinity);
    const high = highs.reduce((a, b) => Math.max(a, b), -Infinity);
    if (low > high) return [0, 1];
    if (spec.kind === "steps") return [0, 1.02];
    const farFromZero = spec.isStudy && spec.kind !== "bars" && low > 0 && low > 0.75 * high && low < high;
    const pad = 0.07 * (farFromZero ? high - low : Math.max(high, 0) - Math.min(low, 0));
    const bottom = farFromZero ? low - pad : low < 0 ? low - pad : 0;
    const top = high > 0 ? high + (pad || 1) : 0;
    return bottom === top ? [bottom, bottom + 1] : [bottom, top];
  }

  function logRange(spec) {
    const values = spec.series.flatMap((series) => series.values).filter((value) => value !== null && value > 0);
    const high = Math.max(...spec.series.flatMap((series) => series.values.map((value, at) =>
      value === null ? 0 : value + ((series.halves && series.halves[at]) || 0))));
    return [Math.min(...values) / 1.5, high * 1.2];
  }

  function xRange(spec, xs) {
    if (spec.kind === "bars") return [-0.6, xs.length - 0.4];
    const first = xs[0], last = xs[xs.length - 1];
    if (spec.logX) return [first / 1.15, last * 1.15];
    const pad = spec.isStudy ? 0.04 * (last - first) || 1 : 0;
    const begin = spec.isStudy ? first : Math.min(0, first);
    return first === last && !pad ? [first - 1, last + 1] : [begin - pad, last + pad];
  }

  function xAxis(spec, width) {
    const base = axis(spec.xLabel);
    base.space = 60;
    base.size = 28;
    if (spec.kind !== "bars") {
      base.values = (plot, splits) => splits.map((value) => (value === null ? "" : format(value)));
      if (spec.isStudy && spec.x.length <= 12) {  // the values of the study themselves, where there is room for them
        base.splits = () => spec.x;
        base.filter = (plot, splits) => thinned(plot, splits);
      }
      return base;
    }
    const names = spec.x.map((name) => short(String(name)));
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = FONT;
    const longest = Math.max(...names.map((name) => pen.measureText(name).width));
    const slot = (width - 80) / names.length;
    const isTurned = longest + 10 > slot && longest > 40;
    const step = isTurned ? Math.ceil(18 / slot) : Math.ceil((longest + 10) / slot);
    base.splits = () => names.map((_, at) => at).filter((at) => at % step === 0);
    base.values = (plot, splits) => splits.map((at) => names[at] || "");
    base.grid = { show: false };
    if (isTurned) {
      base.rotate = -40;
      base.size = Math.min(130, 26 + longest * 0.66);
    }
    return base;
  }

  function thinned(plot, splits) {
    let free = -Infinity;
    return splits.map((value) => {
      const at = plot.valToPos(value, "x");
      if (at < free) return null;
      free = at + 12 + 7 * format(value).length;
      return value;
    });
  }

  function axis(label) {
    return {
      label: label || undefined,
      labelSize: label ? 22 : 0,
      labelFont: FONT,
      font: FONT,
      stroke: () => css("--muted"),
      grid: { stroke: () => css("--line"), width: 0.6 },
      ticks: { stroke: () => css("--line"), width: 0.6, size: 5 },
    };
  }

  // -- a chart ----------------------------------------------------------------------------------------------------------

  function options(spec, xs, width, readOut) {
    const isBars = spec.kind === "bars";
    const yAxis = axis(spec.yLabel);
    yAxis.values = (plot, splits) => splits.map((value) => (value === null ? "" : format(value)));
    yAxis.size = (plot, values) => 14 + 7 * Math.max(2, ...(values || []).map((text) => String(text).length));
    const range = spec.logY ? logRange(spec) : yRange(spec);
    spec.floor = range[0];
    const paths = { lines: uPlot.paths.linear(), steps: uPlot.paths.stepped({ align: 1 }), bars: () => null };
    return {
      width,
      height: HEIGHT,
      padding: [12, 14, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: !isBars, size: 7 }, drag: { x: !isBars && !spec.isStudy, y: false } },
      scales: {
        x: { time: false, distr: spec.logX ? 3 : 1, range: (plot, low, high) => zoomed(plot, low, high, xRange(spec, xs), xs) },
        y: { distr: spec.logY ? 3 : 1, range: () => range },
      },
      axes: [xAxis(spec, width), yAxis],
      series: [{}].concat(spec.series.map((series, index) => ({
        label: series.label,
        stroke: () => colourOf(series, index),
        dash: dashOf(series, index).map((length) => length * uPlot.pxRatio),
        width: series.look === "bold" ? 2.6 : series.look === "each" ? 1 : 1.7,
        points: { show: false },
        paths: paths[spec.kind],
        spanGaps: Boolean(spec.isStudy),
        show: !series.isHidden,
      }))),
      hooks: {
        draw: [(plot) => (isBars ? drawBars(plot, spec) : drawLineDetails(plot, spec)), (plot) => drawMarks(plot, spec)],
        setCursor: [(plot) => readOut(plot.cursor.idx)],
      },
    };
  }

  /** All of the x axis, unless a reader has chosen a part of it with the mouse. */
  function zoomed(plot, low, high, whole, xs) {
    const isAll = low === null || high === null || (low <= xs[0] && high >= xs[xs.length - 1]);
    return isAll ? whole : [low, high];
  }

  /**
   * Draws a chart into an element; returns a function that removes it. The function's `reading` is what a reader does
   * with the chart; one that is drawn in its place, with more values, can go on from there.
   */
  function draw(figure, spec, reading) {
    const isBars = spec.kind === "bars";
    const xs = isBars ? spec.x.map((_, at) => at) : spec.x;
    const parts = [];
    const add = (part) => { parts.push(part); figure.append(part); return part; };
    const each = spec.series.filter((series) => series.look === "each");
    if (each.length > 8) each.forEach((series) => { series.isHidden = true; });

    const place = add(element("div", undefined, "plot"));
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-roledescription", "chart");
    place.setAttribute("aria-label", `${spec.title}. Arrow keys read the values; below is a table of them.`);
    const said = add(element("output", "", "readout noprint"));
    const readOut = (at) => {
      if (at === null || at === undefined || spec.x[at] === undefined) { said.textContent = ""; return; }
      const where = isBars ? `${spec.xLabel ? `${spec.xLabel} ` : ""}${spec.x[at]}` : `${spec.xLabel.replace(/ \(.*/, "")} ${format(spec.x[at])}`;
      const values = spec.series.filter((series, index) => plot.series[index + 1].show).slice(0, 10)
        .map((series) => `${series.label} ${withInterval(series, at)}`);
      said.textContent = `${where}: ${values.join(", ")}`;
    };
    const widthNow = () => Math.max(260, Math.floor(place.clientWidth));
    let plot = null;  // uPlot may call back before it is made
    plot = new uPlot(options(spec, xs, widthNow(), (at) => plot && readOut(at)), [xs, ...spec.series.map((one) => one.values)], place);
    const legend = spec.series.length > 1 ? add(legendOf(spec, plot)) : null;
    const numbers = add(tableOf(spec));

    place.addEventListener("keydown", (event) => {
      const last = xs.length - 1, now = plot.cursor.idx;
      const next = { ArrowRight: Math.min(last, (now ?? -1) + 1), ArrowLeft: Math.max(0, (now ?? 1) - 1), Home: 0, End: last }[event.key];
      if (event.key === "Escape") { plot.setCursor({ left: -10, top: -10 }); readOut(null); }
      if (next === undefined) return;
      event.preventDefault();
      plot.setCursor({ left: plot.valToPos(xs[next], "x"), top: 10 });
      readOut(next);
    });
    const resized = new ResizeObserver(() => {
      if (place.clientWidth && widthNow() !== plot.width) plot.setSize({ width: widthNow(), height: HEIGHT });
    });
    resized.observe(place);
    const one = { redraw: () => { plot.redraw(false); if (legend) legend.redraw(); } };
    drawn.add(one);
    const remove = () => {
      resized.disconnect();
      plot.destroy();
      drawn.delete(one);
      parts.forEach((part) => part.remove());
    };
    const inFocus = () => parts.flatMap((part) => [part, ...part.querySelectorAll("button, input, summary, .scroll")]);
    remove.reading = () => ({
      x: spec.x[plot.cursor.idx],
      isOpen: numbers.open,
      scrolled: numbers.querySelector(".scroll")?.scrollTop,
      focused: inFocus().filter((part) => part === document.activeElement).map(nameOf)[0],
    });
    if (reading) goOn(reading);
    return remove;

    function goOn({ x, isOpen, scrolled, focused }) {
      const at = spec.x.indexOf(x);
      if (at >= 0) {
        plot.setCursor({ left: plot.valToPos(xs[at], "x"), top: 10 });
        readOut(at);
      }
      if (isOpen) {
        numbers.open = true;
        numbers.fill();
        numbers.querySelector(".scroll").scrollTop = scrolled ?? 0;
      }
      if (focused) inFocus().find((part) => nameOf(part) === focused)?.focus({ preventScroll: true });
    }
  }

  /** What a part of a chart is called that can have the focus. */
  const nameOf = (part) => (part.matches("button") ? `button ${part.textContent}` : part.className || part.tagName);

  // -- the legend and the table -----------------------------------------------------------------------------------------

  function legendOf(spec, plot) {
    const legend = element("div", undefined, "legend");
    const redraws = [];
    const each = [];
    spec.series.forEach((series, index) => {
      const button = element("button");
      button.type = "button";
      const swatch = element("canvas");
      swatch.width = 68; swatch.height = 28;
      swatch.setAttribute("aria-hidden", "true");
      redraws.push(() => drawSwatch(swatch, spec, series, index));
      button.append(swatch, element("bdi", series.label));
      const show = (isShown) => {
        plot.setSeries(index + 1, { show: isShown });
        series.isHidden = !isShown;
        button.setAttribute("aria-pressed", String(isShown));
      };
      button.setAttribute("aria-pressed", String(!series.isHidden));
      button.title = "Show or hide";
      button.addEventListener("click", () => show(button.getAttribute("aria-pressed") !== "true"));
      if (series.look === "each") each.push({ button, show });
      legend.append(button);
    });
    if (each.length > 1) legend.prepend(eachControl(each));
    legend.redraw = () => redraws.forEach((redraw) => redraw());
    legend.redraw();
    return legend;
  }

  /** One box for all repetitions; if there are many, they have no buttons of their own. */
  function eachControl(each) {
    const label = element("label", undefined, "each noprint");
    const box = element("input");
    box.type = "checkbox";
    box.checked = each.length <= 8;
    box.addEventListener("change", () => each.forEach((one) => one.show(box.checked)));
    label.append(box, document.createTextNode(" each repetition"));
    if (each.length > 8) each.forEach((one) => { one.button.hidden = true; });
    return label;
  }

  function drawSwatch(swatch, spec, series, index) {
    const context = swatch.getContext("2d");
    const colour = colourOf(series, index);
    context.clearRect(0, 0, swatch.width, swatch.height);
    if (spec.kind === "bars") {
      context.fillStyle = hatching(context, colour, index, 2);
      context.fillRect(14, 3, 40, 22);
      context.strokeStyle = colour;
      context.lineWidth = 2;
      context.strokeRect(14, 3, 40, 22);
      return;
    }
    context.strokeStyle = colour;
    context.lineWidth = series.look === "bold" ? 5 : 3;
    context.setLineDash(dashOf(series, index).map((length) => 2 * length));
    context.beginPath();
    context.moveTo(2, 14); context.lineTo(66, 14);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = css("--back");
    context.lineWidth = 3;
    if (!["bound", "each"].includes(series.look)) marker(context, markerOf(index), 34, 14, 14);
  }

  /** The numbers of a chart, made when a reader asks for them. */
  function tableOf(spec) {
    const details = element("details", undefined, "numbers");
    details.append(element("summary", "Numbers of this chart"));
    details.addEventListener("toggle", () => { if (details.open) details.fill(); });
    details.fill = () => {
      if (details.querySelector("table")) return;
      const table = element("table");
      table.append(element("caption", spec.title));
      const head = element("tr");
      for (const text of [spec.xLabel || "", ...spec.series.map((series) => series.label)]) {
        const cell = element("th");
        cell.scope = "col";
        cell.append(element("bdi", text));
        head.append(cell);
      }
      const top = element("thead"), body = element("tbody");
      top.append(head);
      spec.x.forEach((x, at) => {
        const row = element("tr");
        const first = element("th", typeof x === "number" ? format(x) : x);
        first.scope = "row";
        row.append(first, ...spec.series.map((series) => element("td", withInterval(series, at))));
        body.append(row);
      });
      table.append(top, body);
      const scroll = element("div", undefined, "scroll");
      scroll.tabIndex = 0;
      scroll.append(table);
      details.append(scroll);
      if ((spec.marks || []).length) {
        details.append(element("p", `Marks: ${spec.marks.map((mark) => `${mark.label} at ${format(mark.x)}`).join("; ")}.`));
      }
    };
    return details;
  }

  const redrawAll = () => drawn.forEach((one) => one.redraw());
  return { draw, redrawAll, element, format };
})();
