// The map of one moment: links, who waits, who is inside, tokens, messages on their way, heights and trees.
(() => {
  "use strict";
  const view = window.testbedView;
  const { model, marks } = view;
  const { theme } = marks;

  function radius() {
    if (model.nodes <= 12) return model.hasPositions ? 13 : 16;
    if (model.nodes <= 40) return model.hasPositions ? 9 : 12;
    return model.nodes <= 120 ? 8 : 5;
  }

  // Metres, or the units of a layout, to pixels. A layout fills the drawing; metres have the same scale both ways.
  // `zoom` enlarges all that by a factor around the middle, and then moves it.
  function projection(width, height, zoom) {
    const { left, right, low, high } = model.bounds;
    const margin = 44, w = width - 2 * margin, h = height - 2 * margin;
    const across = w / (right - left), up = h / (high - low);
    const [sx, sy] = model.hasPositions ? [Math.min(across, up), Math.min(across, up)] : [across, up];
    const x0 = margin + (w - sx * (right - left)) / 2, y0 = margin + (h - sy * (high - low)) / 2;
    const enlarged = (at, middle, moved) => middle + (at - middle) * zoom.factor + moved;
    return {
      scale: sx * zoom.factor,
      x: (x) => enlarged(x0 + (x - left) * sx, width / 2, zoom.x),
      y: (y) => enlarged(y0 + (high - y) * sy, height / 2, zoom.y),
    };
  }

  function draw(ctx, width, height, t, look) {
    const r = radius();
    const to = projection(width, height, look.zoom);
    const places = Array.from({ length: model.nodes }, (_, node) => {
      const place = model.placeAt(node, t);
      return place && { x: to.x(place.x), y: to.y(place.y) };
    });
    ctx.fillStyle = theme.back;
    ctx.fillRect(0, 0, width, height);
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, 0, width, height);
    ctx.clip();
    drawGround(ctx, to, width, height, t);
    drawLinks(ctx, places, t, look);
    if (look.tree && model.pointers) drawTree(ctx, places, r, t);
    if (look.selected !== null && places[look.selected]) drawRange(ctx, to, places[look.selected]);
    const moving = messagesAt(places, t, look);
    drawTrails(ctx, moving);
    for (let node = 0; node < model.nodes; node++) {
      if (!places[node]) continue;
      const { x, y } = places[node];
      const dimmed = look.nodes !== null && !look.nodes.has(node);
      ctx.globalAlpha = dimmed ? 0.35 : 1;
      const state = {
        waiting: model.is(node, model.WAITING, t), inside: model.is(node, model.INSIDE, t),
        crashed: model.is(node, model.CRASHED, t), cutOff: model.is(node, model.CUT_OFF, t),
      };
      marks.node(ctx, x, y, r, state, node, node === look.selected);
      if (r < 7 && node === look.selected) marks.label(ctx, String(node), x, y - r - 12, 12, theme.front, { bold: true });
      ctx.globalAlpha = dimmed ? 0.35 : 1;
      if (look.heights && model.heights && model.nodes <= 60 && !state.crashed) drawHeight(ctx, x, y + r * (state.cutOff ? 1.9 : 1.1) + 10, model.heightAt(node, t));
      const amount = model.hasMessages ? model.heldBy(node, t) : { units: 0, tokens: 0 };
      if (amount.units > 0 || amount.tokens > 0) marks.token(ctx, x + r * 0.95, y - r * 0.95, Math.max(6, r * 0.62), amount);
      ctx.globalAlpha = 1;
    }
    drawMessages(ctx, moving, r);
    ctx.restore();
    return places;
  }

  function drawGround(ctx, to, width, height, t) {
    if (!model.hasPositions) return;
    const { area, places } = model.ground;
    ctx.setLineDash([]);
    if (area) {
      ctx.beginPath();
      ctx.rect(to.x(0), to.y(area[1]), area[0] * to.scale, area[1] * to.scale);
      ctx.strokeStyle = theme.line;
      ctx.lineWidth = 1;
      ctx.stroke();
    }
    places.forEach((place, group) => {
      const x = to.x(place.x), y = to.y(place.y);
      marks.circle(ctx, x, y, place.range * to.scale);
      ctx.globalAlpha = 0.12;
      ctx.fillStyle = theme.c1;
      ctx.fill();
      ctx.globalAlpha = 1;
      ctx.strokeStyle = theme.c1;
      ctx.setLineDash([8, 4]);
      ctx.lineWidth = 1.5;
      ctx.stroke();
      ctx.setLineDash([]);
      marks.square(ctx, x, y, 5);
      ctx.fillStyle = theme.c1;
      ctx.fill();
      marks.label(ctx, `place ${group}`, x, y + 15, 12, theme.muted);
      const units = model.keptAt(group, t);
      if (units > 0) marks.token(ctx, x + 9, y - 9, 8, { units, tokens: 1 });
    });
    drawScale(ctx, to, width, height);
  }

  // A bar of a round number of metres.
  function drawScale(ctx, to, width, height) {
    const wanted = 110 / to.scale;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const metres = [5, 2, 1].map((factor) => factor * power).find((length) => length <= wanted);
    const right = width - 14, y = height - 14, left = right - metres * to.scale;
    ctx.beginPath();
    ctx.moveTo(left, y - 4);
    ctx.lineTo(left, y);
    ctx.lineTo(right, y);
    ctx.lineTo(right, y - 4);
    ctx.strokeStyle = theme.muted;
    ctx.lineWidth = 1.5;
    ctx.stroke();
    marks.label(ctx, `${metres} m`, (left + right) / 2, y - 9, 11, theme.muted);
  }

  function drawRange(ctx, to, place) {
    if (!model.ground.range) return;
    marks.circle(ctx, place.x, place.y, model.ground.range * to.scale);
    ctx.globalAlpha = 0.07;
    ctx.fillStyle = theme.accent;
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.strokeStyle = theme.accent;
    ctx.setLineDash([2, 5]);
    ctx.lineWidth = 1.5;
    ctx.stroke();
    ctx.setLineDash([]);
  }

  // Links that both ends know of are lines, others dashed. If the log has no links, nodes within range are dotted.
  function drawLinks(ctx, places, t, look) {
    const whole = [], half = [];
    const guessed = model.ground.range && (!model.hasMessages || model.links.from.length === 0);
    const at = model.hasMessages ? t : 0;
    if (!guessed) model.links.spans.each(at, at, (i) => (model.links.ends[i] > 1 ? whole : half).push(i));
    const pairs = (list) => list.map((i) => [model.links.a[i], model.links.b[i]]);
    if (!guessed && model.partsAt(t) > 1) shadeParts(ctx, places, pairs([...whole, ...half]), t);
    ctx.globalAlpha = model.nodes > 60 ? 0.3 : 0.45;
    lines(ctx, places, pairs(whole), theme.muted, model.nodes > 60 ? 1 : 1.6, []);
    lines(ctx, places, pairs(half), theme.muted, 1, [4, 4]);
    if (guessed && model.nodes <= 300) lines(ctx, places, withinRange(t), theme.muted, 1.6, [2, 3]);
    ctx.globalAlpha = 1;
    if (look.heights && model.heights && model.nodes <= 60) {
      ctx.fillStyle = theme.muted;
      for (const [a, b] of pairs(whole)) drawDownhill(ctx, places, a, b, t);
    }
  }

  // Of a network in several components, all but the largest are shaded: a broad band along links, a disc under nodes.
  function shadeParts(ctx, places, pairs, t) {
    const root = Array.from({ length: model.nodes }, (_, node) => node);
    const find = (node) => {
      while (root[node] !== node) node = root[node] = root[root[node]];
      return node;
    };
    for (const [a, b] of pairs) root[find(a)] = find(b);
    const sizes = new Map();
    const there = root.map((_, node) => node).filter((node) => places[node] && !model.is(node, model.CRASHED, t));
    for (const node of there) sizes.set(find(node), (sizes.get(find(node)) || 0) + 1);
    const largest = [...sizes].reduce((best, one) => (one[1] > best[1] ? one : best), [null, 0])[0];
    const r = radius();
    ctx.globalAlpha = 0.22;
    lines(ctx, places, pairs.filter(([a]) => find(a) !== largest), theme.unsure, 2.6 * r, []);
    ctx.fillStyle = theme.unsure;
    ctx.beginPath();
    for (const node of there.filter((one) => find(one) !== largest)) {
      ctx.moveTo(places[node].x + 2 * r, places[node].y);
      ctx.arc(places[node].x, places[node].y, 2 * r, 0, 2 * Math.PI);
    }
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  function withinRange(t) {
    const found = [];
    const where = Array.from({ length: model.nodes }, (_, node) => model.placeAt(node, t));
    for (let a = 0; a < model.nodes; a++) {
      for (let b = 0; b < a; b++) {
        if (where[a] && where[b] && Math.hypot(where[a].x - where[b].x, where[a].y - where[b].y) <= model.ground.range) {
          found.push([b, a]);
        }
      }
    }
    return found;
  }

  function lines(ctx, places, pairs, colour, width, dash) {
    ctx.beginPath();
    for (const [a, b] of pairs) {
      if (!places[a] || !places[b]) continue;
      ctx.moveTo(places[a].x, places[a].y);
      ctx.lineTo(places[b].x, places[b].y);
    }
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.setLineDash(dash);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  function compare(a, b) {
    for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] - b[i];
    return 0;
  }

  // A small arrow in the middle of a link, from its higher end to its lower end.
  function drawDownhill(ctx, places, a, b, t) {
    const mine = model.heightAt(a, t), other = model.heightAt(b, t);
    if (!mine || !other || !places[a] || !places[b]) return;
    const [from, to] = compare(mine, other) > 0 ? [places[a], places[b]] : [places[b], places[a]];
    const angle = Math.atan2(to.y - from.y, to.x - from.x);
    marks.arrowHead(ctx, (from.x + to.x) / 2, (from.y + to.y) / 2, angle, 4);
    ctx.fill();
  }

  function drawHeight(ctx, x, y, height) {
    if (height) marks.label(ctx, height.slice(0, 2).join(","), x, y, 10, theme.muted);
  }

  // From every node to the node that its agent points to: an arrow that ends at the edge of the other node.
  function drawTree(ctx, places, r, t) {
    ctx.strokeStyle = ctx.fillStyle = theme.accent;
    ctx.lineWidth = model.nodes > 60 ? 1.5 : 2.5;
    ctx.globalAlpha = 0.75;
    const heads = [];
    ctx.beginPath();
    for (let node = 0; node < model.nodes; node++) {
      const to = model.pointerAt(node, t);
      if (to === null || !places[node] || !places[to] || model.is(node, model.CRASHED, t)) continue;
      const a = places[node], b = places[to];
      const angle = Math.atan2(b.y - a.y, b.x - a.x), length = Math.hypot(b.x - a.x, b.y - a.y);
      if (length < 2 * r + 8) continue;
      ctx.moveTo(a.x + Math.cos(angle) * r, a.y + Math.sin(angle) * r);
      ctx.lineTo(b.x - Math.cos(angle) * (r + 8), b.y - Math.sin(angle) * (r + 8));
      heads.push([b.x - Math.cos(angle) * (r + 9), b.y - Math.sin(angle) * (r + 9), angle]);
    }
    ctx.setLineDash([]);
    ctx.stroke();
    for (const [x, y, angle] of heads) {
      marks.arrowHead(ctx, x, y, angle, 6);
      ctx.fill();
    }
    ctx.globalAlpha = 1;
  }

  const MOST = 1500;
  // The messages on their way, those with tokens last, so that they are on top: where each is and between which points.
  function messagesAt(places, t, look) {
    const { messages } = model;
    const found = [];
    messages.spans.each(t, t, (i) => {
      if (!view.shows(i, look)) return;
      const { from, to, share, isLast } = model.hopAt(i, t);
      const a = places[from], b = places[to];
      if (!a || !b) return;
      // What is lost or comes back does not get further than half of its last way.
      const fate = isLast ? messages.fate[i] : model.ARRIVED;
      const way = fate === model.ARRIVED || model.isOpen(i) ? share : fate === model.RETURNED ? Math.min(share, 1 - share) : share / 2;
      const amount = { units: messages.units[i], tokens: messages.tokens[i] };
      found.push({
        a, x: a.x + (b.x - a.x) * way, y: a.y + (b.y - a.y) * way, angle: Math.atan2(b.y - a.y, b.x - a.x),
        type: marks.types.get(messages.type[i]), amount, carries: amount.units > 0 || amount.tokens > 0,
        isLost: fate === model.LOST && share > 0.5,
      });
    });
    return found.sort((one, other) => one.carries - other.carries).slice(-MOST);
  }

  // Tokens leave a line behind them.
  function drawTrails(ctx, moving) {
    ctx.beginPath();
    for (const { a, x, y } of moving.filter((one) => one.carries)) {
      ctx.moveTo(a.x, a.y);
      ctx.lineTo(x, y);
    }
    ctx.strokeStyle = theme.token;
    ctx.lineWidth = 3.5;
    ctx.setLineDash([]);
    ctx.stroke();
  }

  function drawMessages(ctx, moving, r) {
    const letters = moving.length <= 120;
    for (const { x, y, angle, type, amount, carries, isLost } of moving) {
      if (carries) {
        marks.token(ctx, x, y, Math.max(7, r * 0.7), amount);
      } else {
        marks.arrowHead(ctx, x, y, angle, 7);
        ctx.fillStyle = theme[type.colour];
        ctx.fill();
        ctx.strokeStyle = theme.front;
        ctx.lineWidth = 0.8;
        ctx.stroke();
        // Beside the arrow, on its left: so those of messages that meet do not cover each other.
        const [dx, dy] = [13 * Math.sin(angle), -13 * Math.cos(angle)];
        if (letters) marks.label(ctx, type.letters, x + dx, y + dy, 11, theme.front, { bold: true });
      }
      if (isLost) {
        ctx.strokeStyle = theme.bad;
        ctx.lineWidth = 2.5;
        marks.cross(ctx, x, y, 7);
      }
    }
  }

  // The node at a point, or null.
  function nodeAt(places, x, y) {
    let best = null, nearest = Math.max(14, radius() * 1.5);
    places.forEach((place, node) => {
      if (!place) return;
      const distance = Math.hypot(place.x - x, place.y - y);
      if (distance < nearest) [best, nearest] = [node, distance];
    });
    return best;
  }

  // Whether the filters let a message be seen.
  view.shows = (i, look) => {
    const { messages } = model;
    if (look.onlyTokens && !(messages.units[i] > 0 || messages.tokens[i] > 0)) return false;
    if (look.hiddenTypes.size && look.hiddenTypes.has(messages.type[i])) return false;
    return look.nodes === null || look.nodes.has(messages.from[i]) || look.nodes.has(messages.to[i]);
  };
  view.map = { draw, nodeAt };
})();
