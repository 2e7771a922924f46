// The texts beside the drawings. Everything from the run gets there as text, never as HTML.
(() => {
  "use strict";
  const view = window.testbedView;
  const { model, marks, lastUpTo } = view;
  const RECENT = 14;
  const NO_STATES_YET = "A live page has no states of agents. `testbed view` makes a file that has them, after the run.";

  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function fill(id, ...children) {
    document.getElementById(id).replaceChildren(...children);
  }

  // One line about the run; of one that goes on, it changes.
  function about() {
    const { run } = model;
    const count = model.events.t.length.toLocaleString("en");
    const parts = [
      `${run.algorithm}, ${run.nodes} nodes, ${run.backend}, seed ${run.seed}`,
      `${run.live ? brief(model.end) : model.units(model.end)} time units, ${count} events`, run.description,
    ];
    document.getElementById("about").textContent = parts.filter(Boolean).join(" · ");
  }

  function verdicts() {
    const { run } = model;
    const SIGNS = { ok: "✓", failed: "✗", inconclusive: "?" };
    fill("verdicts", ...Object.entries(run.verdicts).map(([name, { verdict, detail }]) => {
      const item = element("li", `${SIGNS[verdict] || "–"} ${name}: ${verdict}`, `verdict-${verdict.replace(" ", "-")}`);
      if (detail) item.title = detail;
      return item;
    }));
  }

  function notes() {
    fill("notes", ...model.run.notes.map((note) => element("li", note)));
  }

  // -- one node -------------------------------------------------------------------------------------------------------

  function shown(value) {
    if (value === null) return "none";
    if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
    if (typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${k}: ${shown(v)}`).join(", ")}}`;
    return String(value);
  }

  function words(node, t) {
    const found = [];
    if (model.placeAt(node, t) === null) found.push("not there");
    if (model.is(node, model.CRASHED, t)) found.push("crashed");
    if (model.is(node, model.INSIDE, t)) found.push("in its critical section");
    if (model.is(node, model.WAITING, t)) found.push("waiting");
    if (model.is(node, model.CUT_OFF, t)) found.push("cut off from every unit");
    const { units, tokens } = model.heldBy(node, t);
    if (model.hasMessages && (units || tokens)) {
      const count = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;
      found.push(`holds ${units === tokens ? "" : `${count(units, "unit")} and `}${count(tokens, "token")}`);
    }
    const group = model.groupOf(node, t);
    if (group !== null) found.push(`at place ${group}`);
    if (!found.length) found.push(model.hasEntries ? "neither waiting nor inside" : "");
    return found.join(", ");
  }

  function node(number, t) {
    if (number === null) {
      fill("node-panel", element("p", "Click a node, or press N.", "hint"));
      return;
    }
    const parts = [element("p", words(number, t))];
    const state = model.stateAt(number, t);
    if (state) {
      const table = element("table", null, "state");
      table.append(element("caption", "State of its agent"));
      for (const [name, value] of Object.entries(state)) {
        const row = element("tr");
        row.append(element("th", name), element("td", shown(value)));
        table.append(row);
      }
      parts.push(table);
    } else {
      parts.push(element("p", model.run.live ? NO_STATES_YET : "The page has no states of agents; see the notes above.", "hint"));
    }
    parts.push(recent(number, t));
    fill("node-panel", ...parts);
  }

  function recent(number, t) {
    const mine = model.eventsOf(number);
    let low = 0, high = mine.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (model.events.t[mine[middle]] <= t) low = middle + 1;
      else high = middle;
    }
    const table = element("table", null, "recent");
    table.append(element("caption", "Last inputs (in) and outputs (out)"));
    for (const i of mine.slice(Math.max(0, low - RECENT), low).reverse()) {
      const row = element("tr");
      const isOutput = model.isOutput(i);
      row.append(element("td", brief(model.events.t[i]), "when"), element("td", isOutput ? "out" : "in", isOutput ? "out" : "in"),
        element("td", model.describe(i)));
      table.append(row);
    }
    return table;
  }

  function brief(t) {
    return String(Math.round((t / model.run.ticks) * 1e4) / 1e4);
  }

  // -- the whole network ----------------------------------------------------------------------------------------------

  function listed(nodes) {
    if (!nodes.length) return "none";
    return nodes.length > 24 ? `${nodes.slice(0, 24).join(", ")}, … (${nodes.length})` : nodes.join(", ");
  }

  function now(t) {
    const every = Array.from({ length: model.nodes }, (_, i) => i);
    const rows = [];
    if (model.hasEntries) {
      rows.push(["inside", listed(every.filter((i) => model.is(i, model.INSIDE, t)))]);
      rows.push(["waiting", listed(every.filter((i) => model.is(i, model.WAITING, t)))]);
    }
    if (model.hasMessages) {
      if (model.run.shares !== "permissions") {
        rows.push(["token at", listed(every.filter((i) => model.heldBy(i, t).tokens > 0 || model.heldBy(i, t).units > 0))]);
      }
      let moving = 0, tokens = 0;
      model.messages.spans.each(t, t, (i) => {
        moving++;
        if (model.messages.units[i] > 0 || model.messages.tokens[i] > 0) tokens++;
      });
      rows.push(["on their way", `${moving} message${moving === 1 ? "" : "s"}${tokens ? `, ${tokens} with a token` : ""}`]);
    }
    const crashed = every.filter((i) => model.is(i, model.CRASHED, t));
    if (crashed.length) rows.push(["crashed", listed(crashed)]);
    const parts = model.partsAt(t);
    if (parts !== null) rows.push(["components", String(parts)]);
    const cutOff = every.filter((i) => model.is(i, model.CUT_OFF, t));
    if (cutOff.length) rows.push(["cut off", listed(cutOff)]);
    const table = element("table", null, "now");
    for (const [name, value] of rows) {
      const row = element("tr");
      row.append(element("th", name), element("td", value));
      table.append(row);
    }
    fill("now", table);
  }

  // What there is to say of this very moment: a fault, a violation, an event.
  function said(t) {
    const marked = model.marks.filter((mark) => mark[0] === t).map((mark) => `${mark[2]}: ${mark[3]}`);
    const last = lastUpTo(model.events.t, t);
    if (!marked.length && last >= 0 && model.events.t[last] === t) {
      const who = model.events.node[last] >= 0 ? `node ${model.events.node[last]}: ` : "";
      marked.push(`${who}${model.describe(last)}`);
    }
    const text = marked.slice(0, 3).join(" · ");
    const shown = document.getElementById("said");
    if (shown.textContent !== text) shown.textContent = text; // a screen reader says every change
  }

  // -- filters and signs ----------------------------------------------------------------------------------------------

  function checkbox(text, checked, change) {
    const label = element("label", null, "check");
    const box = element("input");
    box.type = "checkbox";
    box.checked = checked;
    box.addEventListener("change", () => change(box.checked));
    label.append(box, document.createTextNode(` ${text}`));
    return label;
  }

  function filters(look, changed) {
    const made = [];
    const label = element("label", "Nodes ");
    const input = element("input");
    Object.assign(input, { type: "text", id: "filter-nodes", placeholder: "all, or 0, 3, 7-9" });
    input.addEventListener("change", () => {
      look.nodes = parseNodes(input.value);
      input.setAttribute("aria-invalid", String(look.nodes === null && input.value.trim() !== ""));
      changed();
    });
    label.append(input);
    made.push(label);
    if (model.hasMessages) {
      made.push(checkbox("only messages with a token", look.onlyTokens, (on) => { look.onlyTokens = on; changed(); }));
    }
    if (model.pointers) {
      made.push(checkbox(`arrows of ${model.pointers.name}`, look.tree, (on) => { look.tree = on; changed(); }));
    }
    if (model.heights) made.push(checkbox("heights", look.heights, (on) => { look.heights = on; changed(); }));
    const group = element("fieldset");
    group.id = "filter-types";
    group.append(element("legend", "Messages"));
    made.push(group);
    fill("filters", ...made);
    filterTypes(look, changed);
  }

  // A filter for every type of messages that has none yet.
  function filterTypes(look, changed) {
    const group = document.getElementById("filter-types");
    group.hidden = marks.types.size === 0;
    for (const type of [...marks.types.values()].slice(group.querySelectorAll("input").length)) {
      group.append(checkbox(`${type.name} (${type.letters})`, true, (on) => {
        if (on) look.hiddenTypes.delete(type.number);
        else look.hiddenTypes.add(type.number);
        changed();
      }));
    }
  }

  // "0, 3, 7-9" as a set of nodes; null for all of them, and for a text that names none.
  function parseNodes(text) {
    const found = new Set();
    for (const part of text.split(/[\s,;]+/)) {
      const match = /^(\d+)(?:-(\d+))?$/.exec(part);
      if (!match) continue;
      const last = Math.min(Number(match[2] ?? match[1]), model.nodes - 1);
      for (let i = Number(match[1]); i <= last; i++) found.add(i);
    }
    return found.size ? found : null;
  }

  // Signs are drawn by the same functions as in the drawings.
  function legend() {
    const items = [];
    const add = (text, draw) => {
      const canvas = element("canvas");
      const ratio = window.devicePixelRatio || 1;
      canvas.width = 44 * ratio;
      canvas.height = 26 * ratio;
      canvas.className = "sign";
      canvas.setAttribute("aria-hidden", "true");
      const ctx = canvas.getContext("2d");
      ctx.scale(ratio, ratio);
      draw(ctx);
      const item = element("div", null, "sign-row");
      item.append(canvas, element("span", text));
      items.push(item);
    };
    const sign = (state) => (ctx) => marks.node(ctx, 22, 13, state.cutOff ? 6 : 9, state, 3, false);
    if (model.hasEntries) {
      add("waits", sign({ waiting: true }));
      add("in its critical section (CS)", sign({ inside: true }));
    }
    add("crashed", sign({ crashed: true }));
    add("cut off from every unit", sign({ cutOff: true }));
    add("not in the largest component", (ctx) => {
      ctx.globalAlpha = 0.22;
      marks.circle(ctx, 22, 13, 12);
      ctx.fillStyle = marks.theme.unsure;
      ctx.fill();
      ctx.globalAlpha = 1;
    });
    if (model.hasMessages && model.run.shares !== "permissions") {
      add("token, or its units", (ctx) => marks.token(ctx, 22, 13, 8, { units: 1, tokens: 1 }));
    }
    if (model.pointers) {
      add(`points to its ${model.pointers.name}`, (ctx) => stroke(ctx, marks.theme.accent, 2.5, [], true));
    }
    if (model.heights) add("link, downhill", (ctx) => stroke(ctx, marks.theme.muted, 1.2, [], true));
    for (const type of marks.types.values()) {
      const colour = type.carries ? marks.theme.token : marks.theme[type.colour];
      add(`${type.letters}: ${type.name}`, (ctx) => stroke(ctx, colour, type.carries ? 2.8 : 1.6, type.carries ? [] : type.dash, true));
    }
    add("F fault", (ctx) => stroke(ctx, marks.theme.bad, 1.5, [5, 4], false));
    add("V! violation", (ctx) => stroke(ctx, marks.theme.bad, 1.5, [], false));
    fill("legend", ...items);
  }

  function stroke(ctx, colour, width, dash, head) {
    ctx.strokeStyle = ctx.fillStyle = colour;
    ctx.lineWidth = width;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(4, 13);
    ctx.lineTo(head ? 34 : 40, 13);
    ctx.stroke();
    ctx.setLineDash([]);
    if (head) {
      marks.arrowHead(ctx, 35, 13, 0, 5);
      ctx.fill();
    }
  }

  view.panel = { element, fill, about, verdicts, notes, node, now, said, filters, filterTypes, legend, brief };
})();
