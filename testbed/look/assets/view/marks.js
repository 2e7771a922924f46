// The signs of both drawings. None differs by its colour alone: nodes by shape, message types by letter and dashes.
(() => {
  "use strict";
  const view = window.testbedView;
  const { model } = view;
  const FONT = 'system-ui, "Segoe UI", Roboto, sans-serif';

  const theme = {};
  function readTheme() {
    const style = getComputedStyle(document.documentElement);
    const names = ["back", "front", "muted", "line", "panel", "accent", "good", "bad", "unsure",
      "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
    for (const name of names) theme[name] = style.getPropertyValue(`--${name}`).trim();
    theme.token = theme.c6;
  }
  readTheme();

  // Every message type has a colour, a pattern of dashes and the shortest letters that no type before it has.
  const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [12, 4]];
  const COLOURS = ["c2", "c3", "c1", "c7", "c4", "c5"];
  const types = new Map(), used = new Set(), carries = new Set();
  let seen = 0, place = 0;

  // Looks at the messages that have come since the last time. Whether there is a type with another look than before.
  function learnTypes() {
    const { type, tokens, units } = model.messages;
    const fresh = new Set(), carried = carries.size;
    for (; seen < type.length; seen++) {
      if (!types.has(type[seen])) fresh.add(type[seen]);
      if (tokens[seen] || units[seen]) carries.add(type[seen]);
    }
    for (const number of [...fresh].sort((a, b) => a - b)) {
      const name = model.names[number];
      const capitals = name.replace(/[^A-Z]/g, "");
      const guesses = [name.slice(0, 1).toUpperCase(), capitals.slice(0, 2), name.slice(0, 2), name.slice(0, 3)];
      const letters = guesses.find((guess) => guess && !used.has(guess)) || String(number);
      used.add(letters);
      const dash = DASHES[place % DASHES.length];
      types.set(number, {
        number, name, letters, dash, colour: COLOURS[place % COLOURS.length], get carries() { return carries.has(number); },
      });
      if (!carries.has(number)) place++; // those that carry tokens have the look of tokens instead
    }
    return fresh.size > 0 || carries.size > carried;
  }
  learnTypes();

  function polygon(ctx, points) {
    ctx.beginPath();
    points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
    ctx.closePath();
  }

  function circle(ctx, x, y, r) {
    ctx.beginPath();
    ctx.arc(x, y, r, 0, 2 * Math.PI);
  }

  function diamond(ctx, x, y, r) {
    polygon(ctx, [[x, y - r], [x + r, y], [x, y + r], [x - r, y]]);
  }

  function square(ctx, x, y, r) {
    polygon(ctx, [[x - r, y - r], [x + r, y - r], [x + r, y + r], [x - r, y + r]]);
  }

  function cross(ctx, x, y, r) {
    ctx.beginPath();
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x + r, y - r);
    ctx.lineTo(x - r, y + r);
    ctx.stroke();
  }

  // A circle filled with slanted lines.
  function hatched(ctx, x, y, r) {
    ctx.beginPath();
    for (let d = -r + 3; d < r; d += 6) {
      const half = Math.sqrt(r * r - d * d);
      const across = Math.SQRT1_2;
      ctx.moveTo(x + (d - half) * across, y + (d + half) * across);
      ctx.lineTo(x + (d + half) * across, y + (d - half) * across);
    }
    ctx.stroke();
  }

  function arrowHead(ctx, x, y, angle, size) {
    const point = (turn, length) => [x + Math.cos(angle + turn) * length, y + Math.sin(angle + turn) * length];
    polygon(ctx, [point(0, size), point(2.5, size), point(-2.5, size)]);
  }

  function label(ctx, text, x, y, size, colour, { bold = false, align = "center" } = {}) {
    ctx.font = `${bold ? "bold " : ""}${size}px ${FONT}`;
    ctx.textAlign = align;
    ctx.textBaseline = "middle";
    ctx.fillStyle = colour;
    ctx.fillText(text, x, y);
  }

  // A node: a circle; waiting, a diamond with a dashed edge; in its critical section, a filled square; crashed, crossed.
  function node(ctx, x, y, r, state, number, selected) {
    ctx.setLineDash([]);
    if (state.cutOff) {
      ctx.strokeStyle = theme.muted;
      ctx.lineWidth = 1;
      ctx.globalAlpha = 0.75;
      hatched(ctx, x, y, r * 1.9);
      circle(ctx, x, y, r * 1.9);
      ctx.setLineDash([3, 3]);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
    }
    if (selected) {
      circle(ctx, x, y, r + 7);
      ctx.strokeStyle = theme.accent;
      ctx.lineWidth = 3;
      ctx.stroke();
    }
    let text = theme.front;
    if (state.crashed) {
      circle(ctx, x, y, r);
      ctx.fillStyle = theme.line;
      ctx.fill();
      ctx.strokeStyle = theme.muted;
      ctx.lineWidth = 1.5;
      ctx.setLineDash([2, 2]);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.strokeStyle = theme.bad;
      ctx.lineWidth = 2.5;
      cross(ctx, x, y, r * 1.05);
      text = theme.muted;
    } else if (state.inside) {
      square(ctx, x, y, r * 0.98);
      ctx.fillStyle = theme.good;
      ctx.fill();
      ctx.strokeStyle = theme.front;
      ctx.lineWidth = 2;
      ctx.stroke();
      text = theme.back;
    } else if (state.waiting) {
      diamond(ctx, x, y, r * 1.3);
      ctx.fillStyle = theme.panel;
      ctx.fill();
      ctx.strokeStyle = theme.unsure;
      ctx.lineWidth = 2.5;
      ctx.setLineDash([4, 2]);
      ctx.stroke();
      ctx.setLineDash([]);
    } else {
      circle(ctx, x, y, r);
      ctx.fillStyle = theme.panel;
      ctx.fill();
      ctx.strokeStyle = theme.front;
      ctx.lineWidth = 1.2;
      ctx.stroke();
    }
    if (state.crashed) label(ctx, String(number), x + r + 4, y - r, Math.max(9, r * 0.85), text, { align: "left" });
    else if (r >= 7) label(ctx, String(number), x, y + 0.5, Math.max(9, r * 0.85), text, { bold: state.inside });
  }

  // A token, held or on its way: a disc with a T, or with the number of its units.
  function token(ctx, x, y, r, { units, tokens }) {
    circle(ctx, x, y, r);
    ctx.fillStyle = theme.token;
    ctx.fill();
    ctx.strokeStyle = theme.back;
    ctx.lineWidth = 1.5;
    ctx.setLineDash([]);
    ctx.stroke();
    const text = units === 1 && tokens === 1 ? "T" : String(units);
    label(ctx, text, x, y + 0.5, r * 1.35, "#ffffff", { bold: true });
  }

  view.marks = {
    theme, readTheme, types, learnTypes, FONT, polygon, circle, diamond, square, cross, hatched, arrowHead, label, node, token,
  };
})();
