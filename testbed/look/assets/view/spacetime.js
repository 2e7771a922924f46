// The space-time diagram: a line per node, messages from line to line, waiting and critical sections as bars.
(() => {
  "use strict";
  const view = window.testbedView;
  const { model, marks, lastUpTo } = view;
  const { theme } = marks;
  const LEFT = 52, TOP = 24, BOTTOM = 8, RIGHT = 10;
  const limits = { messages: 5000 }; // more at once than that are thinned: pixels could not tell them apart

  function rowsOf(look) {
    if (look.nodes === null) return Array.from({ length: model.nodes }, (_, node) => node);
    return [...look.nodes].sort((a, b) => a - b);
  }

  // What both drawing and pointing need: from time and node to pixels.
  function frame(width, height, from, span, look) {
    const rows = rowsOf(look);
    const plot = { x: LEFT, y: TOP, w: Math.max(10, width - LEFT - RIGHT), h: Math.max(10, height - TOP - BOTTOM) };
    const step = plot.h / Math.max(1, rows.length);
    const place = new Map(rows.map((node, i) => [node, plot.y + (i + 0.5) * step]));
    return { rows, plot, step, y: (node) => place.get(node), x: (t) => plot.x + ((t - from) / span) * plot.w };
  }

  function draw(ctx, width, height, from, span, now, look) {
    const at = frame(width, height, from, span, look);
    const { plot, rows } = at;
    ctx.fillStyle = theme.back;
    ctx.fillRect(0, 0, width, height);
    drawAxis(ctx, at, from, span, height);
    drawRows(ctx, at, width, look);
    ctx.save();
    ctx.beginPath();
    ctx.rect(plot.x, 0, plot.w + RIGHT, height);
    ctx.clip();
    for (const node of rows) drawBars(ctx, at, node, from, span);
    const thinned = drawMessages(ctx, at, from, span, look);
    drawMarks(ctx, at, from, span, height);
    ctx.restore();
    drawNow(ctx, at.x(now), height, now);
    return thinned;
  }

  function drawAxis(ctx, at, from, span, height) {
    const wanted = (span / model.run.ticks) / (at.plot.w / 110);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= wanted) * model.run.ticks;
    const digits = Math.max(0, -Math.floor(Math.log10(step / model.run.ticks) + 1e-9));
    ctx.setLineDash([]);
    ctx.strokeStyle = theme.line;
    ctx.lineWidth = 1;
    ctx.beginPath();
    const ticks = [];
    for (let k = Math.ceil(from / step); k * step <= from + span; k++) ticks.push(k * step);
    for (const t of ticks) {
      ctx.moveTo(at.x(t), TOP - 5);
      ctx.lineTo(at.x(t), height - BOTTOM);
    }
    ctx.globalAlpha = 0.6;
    ctx.stroke();
    ctx.globalAlpha = 1;
    const fits = (t) => at.x(t) > LEFT + 22 && at.x(t) < LEFT + at.plot.w - 14;
    for (const t of ticks.filter(fits)) {
      marks.label(ctx, (t / model.run.ticks).toFixed(digits), at.x(t), 10, 11, theme.muted);
    }
    marks.label(ctx, "node", LEFT - 8, 10, 11, theme.muted, { align: "right" });
  }

  function drawRows(ctx, at, width, look) {
    const every = Math.max(1, Math.ceil(12 / at.step));
    ctx.beginPath();
    for (const node of at.rows) {
      ctx.moveTo(LEFT, at.y(node));
      ctx.lineTo(width - RIGHT, at.y(node));
    }
    ctx.strokeStyle = theme.line;
    ctx.lineWidth = 1;
    ctx.stroke();
    const chosen = at.rows.indexOf(look.selected);
    at.rows.forEach((node, i) => {
      const selected = node === look.selected;
      if (selected) {
        ctx.globalAlpha = 0.16;
        ctx.fillStyle = theme.accent;
        ctx.fillRect(0, at.y(node) - Math.max(at.step, 6) / 2, width, Math.max(at.step, 6));
        ctx.globalAlpha = 1;
      }
      if (selected || (i % every === 0 && (chosen < 0 || Math.abs(i - chosen) >= every))) {
        const size = Math.min(12, Math.max(9, at.step));
        marks.label(ctx, String(node), LEFT - 8, at.y(node), size, selected ? theme.accent : theme.front, { bold: selected, align: "right" });
      }
    });
  }

  // Intervals of a node that touch the stretch; those within one pixel are drawn once.
  function each(list, from, to, at, take) {
    let drawn = -1;
    for (let i = Math.max(0, lastUpTo(list.from, from)); i < list.from.length && list.from[i] < to; i++) {
      if (list.to[i] <= from) continue;
      const left = Math.max(at.plot.x, at.x(list.from[i])), right = Math.min(at.plot.x + at.plot.w, at.x(Math.min(list.to[i], model.end)));
      if (right <= drawn) continue;
      take(left, Math.max(1, right - left));
      drawn = Math.floor(right);
    }
  }

  function drawBars(ctx, at, node, from, span) {
    const y = at.y(node), to = from + span;
    const thick = Math.max(2, Math.min(14, at.step * 0.62)), thin = Math.max(1, thick * 0.5);
    const list = model.intervals[node];
    each(list[model.CUT_OFF], from, to, at, (x, w) => {
      ctx.globalAlpha = 0.25;
      ctx.fillStyle = theme.muted;
      ctx.fillRect(x, y - at.step / 2, w, at.step);
      ctx.globalAlpha = 1;
    });
    each(list[model.CRASHED], from, to, at, (x, w) => {
      ctx.fillStyle = theme.line;
      ctx.fillRect(x, y - thick / 2, w, thick);
      ctx.strokeStyle = theme.bad;
      ctx.lineWidth = 1.5;
      if (thick >= 4) marks.cross(ctx, x + Math.min(w, thick) / 2, y, thick / 2);
    });
    each(list[model.WAITING], from, to, at, (x, w) => {
      ctx.beginPath();
      ctx.rect(x, y - thin / 2, w, thin);
      ctx.fillStyle = theme.panel;
      ctx.fill();
      ctx.strokeStyle = theme.unsure;
      ctx.lineWidth = 1.4;
      ctx.setLineDash(thin >= 3 ? [4, 2] : []);
      ctx.stroke();
      ctx.setLineDash([]);
    });
    each(list[model.INSIDE], from, to, at, (x, w) => {
      ctx.fillStyle = theme.good;
      ctx.fillRect(x, y - thick / 2, Math.max(2, w), thick);
      if (thick >= 9 && w >= 18) marks.label(ctx, "CS", x + w / 2, y + 0.5, 9, theme.back, { bold: true });
    });
  }

  // Lines of one type are one path: strokes are what costs time.
  function drawMessages(ctx, at, from, span, look) {
    const { messages } = model;
    const seen = [];
    messages.spans.each(from, from + span, (i) => {
      if (at.y(messages.from[i]) === undefined && at.y(messages.to[i]) === undefined) return;
      if (view.shows(i, look)) seen.push(i);
    });
    const isToken = (i) => messages.units[i] > 0 || messages.tokens[i] > 0;
    const tokens = seen.filter(isToken), others = seen.filter((i) => !isToken(i));
    // Evenly over the stretch, and each by itself: tokens are few, and what one looks for.
    const step = (list) => Math.max(1, Math.ceil(list.length / limits.messages));
    const every = { others: step(others), tokens: step(tokens) };
    const thin = (list, by) => (by === 1 ? list : list.filter((_, place) => place % by === 0));
    const kept = [...thin(others, every.others), ...thin(tokens, every.tokens)];
    const groups = new Map();
    for (const i of kept) {
      const key = isToken(i) ? -1 : messages.type[i];
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(i);
    }
    const few = kept.length <= 600;
    // Where only one end of a message has a row, its line goes up or down a little.
    const row = (node, other, side) => at.y(node) ?? at.y(other) + side * Math.min(at.step / 2, 14);
    const ends = (i) => {
      const { from: a, to: b, fate } = messages;
      const ya = row(a[i], b[i], -1), yb = row(b[i], a[i], -1);
      const whole = fate[i] === model.ARRIVED;
      if (model.isOpen(i)) return [at.x(messages.t[i]), ya, at.x(model.end), ya + (yb - ya) * model.hopAt(i, model.end).share];
      return [at.x(messages.t[i]), ya, at.x(messages.until[i]), whole ? yb : (ya + yb) / 2];
    };
    for (const [key, list] of [...groups].sort((a, b) => b[0] - a[0])) {
      const type = key < 0 ? null : marks.types.get(key);
      ctx.beginPath();
      for (const i of list) {
        const [x1, y1, x2, y2] = ends(i);
        ctx.moveTo(x1, y1);
        const relays = model.relaysOf(i);
        for (let k = 0; k < relays.t.length; k++) {
          const y = at.y(relays.node[k]);
          if (y !== undefined) ctx.lineTo(at.x(relays.t[k]), y);
        }
        ctx.lineTo(x2, y2);
      }
      ctx.strokeStyle = type ? theme[type.colour] : theme.token;
      ctx.lineWidth = type ? (few ? 1.4 : 1) : at.step < 7 ? 1.8 : 2.8;
      ctx.globalAlpha = type ? (few ? 0.95 : 0.6) : 1;
      ctx.setLineDash(type && few ? type.dash : []);
      ctx.stroke();
      ctx.setLineDash([]);
      if (few) {
        ctx.fillStyle = ctx.strokeStyle;
        for (const i of list) if (!model.isOpen(i)) drawEnd(ctx, i, ends(i), type);
      }
      ctx.globalAlpha = 1;
    }
    return every.others === 1 && every.tokens === 1 ? null : { ...every, seen: seen.length, drawn: kept };
  }

  function drawEnd(ctx, i, [x1, y1, x2, y2], type) {
    const fate = model.messages.fate[i];
    if (fate === model.ARRIVED) {
      marks.arrowHead(ctx, x2, y2, Math.atan2(y2 - y1, x2 - x1), type ? 4 : 6);
      ctx.fill();
    } else if (fate === model.LOST) {
      const colour = ctx.strokeStyle;
      ctx.strokeStyle = theme.bad;
      ctx.lineWidth = 2;
      marks.cross(ctx, x2, y2, 4);
      ctx.strokeStyle = colour;
    } else {
      marks.circle(ctx, x2, y2, 3.5);
      ctx.lineWidth = 1.2;
      ctx.stroke();
    }
  }

  // Faults and violations: a line from top to bottom with a sign.
  function drawMarks(ctx, at, from, span, height) {
    const list = model.marks;
    let drawn = -Infinity;
    for (const [t, , what] of list) {
      if (t < from || t > from + span || at.x(t) - drawn < 1) continue;
      const x = (drawn = at.x(t));
      ctx.beginPath();
      ctx.moveTo(x, TOP - 4);
      ctx.lineTo(x, height - BOTTOM);
      ctx.strokeStyle = theme.bad;
      ctx.lineWidth = 1.4;
      ctx.setLineDash(what === "violation" ? [] : [5, 4]);
      ctx.stroke();
      ctx.setLineDash([]);
      marks.label(ctx, what === "violation" ? "V!" : "F", x + 8, TOP + 3, 11, theme.bad, { bold: true });
    }
  }

  function drawNow(ctx, x, height) {
    ctx.beginPath();
    ctx.moveTo(x, TOP - 8);
    ctx.lineTo(x, height - BOTTOM);
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 2;
    ctx.setLineDash([]);
    ctx.stroke();
    marks.polygon(ctx, [[x - 6, TOP - 12], [x + 6, TOP - 12], [x, TOP - 4]]);
    ctx.fillStyle = theme.accent;
    ctx.fill();
  }

  // The time and the node at a point of the drawing.
  function pick(width, height, from, span, look, x, y) {
    const at = frame(width, height, from, span, look);
    const row = Math.floor((y - at.plot.y) / at.step);
    const node = row >= 0 && row < at.rows.length ? at.rows[row] : null;
    return { t: from + ((x - at.plot.x) / at.plot.w) * span, node, inLabels: x < LEFT };
  }

  view.spacetime = { draw, pick, limits };
})();
