// The run: what is the case at a time. Times are ticks; nothing here draws. Tables may grow while they are read.
(() => {
  "use strict";
  const view = window.testbedView;
  const { block, numbers, lastUpTo } = view;
  const { empty, fromFile, WAITING, INSIDE, CRASHED, CUT_OFF, ARRIVED, RETURNED, LOST, UNDECIDED } = view.tables;

  const run = block("run"), ground = block("ground");
  const nodes = run.nodes;
  const tables = run.live ? empty(run) : fromFile(run, block("happened"));

  // Between which nodes a message is at a time, and how far it has got there. One that has not arrived yet comes close.
  function hopAt(i, t) {
    const { messages, typicalDelay } = tables;
    const relays = tables.relaysOf(i);
    let from = messages.from[i], since = messages.t[i], k = 0;
    for (; k < relays.t.length && relays.t[k] <= t; k++) [from, since] = [relays.node[k], relays.t[k]];
    const isLast = k === relays.t.length;
    const to = isLast ? messages.to[i] : relays.node[k], until = isLast ? messages.until[i] : relays.t[k];
    if (until === Infinity) return { from, to, share: Math.min(0.9, (t - since) / Math.max(1, typicalDelay)), isLast };
    return { from, to, share: (t - since) / Math.max(1, until - since), isLast };
  }

  // Whether the log may still say what becomes of a message.
  function isOpen(message) {
    return tables.messages.until[message] === Infinity;
  }

  // Of disjoint stretches of time, the one that a time is in; -1 if it is in none.
  function stretchAt({ from, to }, t) {
    const place = lastUpTo(from, t);
    return place >= 0 && t < to[place] ? place : -1;
  }

  function is(node, what, t) {
    return stretchAt(tables.intervals[node][what], t) >= 0;
  }

  function heldBy(node, t) {
    const list = tables.held[node];
    const place = lastUpTo(list.t, t);
    return place < 0 ? { units: 0, tokens: 0 } : { units: list.units[place], tokens: list.tokens[place] };
  }

  function groupOf(node, t) {
    const place = stretchAt(tables.stays[node], t);
    return place < 0 ? null : tables.stays[node].group[place];
  }

  function keptAt(group, t) {
    const { t: times, units } = tables.kept[group];
    const place = lastUpTo(times, t);
    return place < 0 ? 0 : units[place];
  }

  function partsAt(t) {
    const place = lastUpTo(tables.parts.t, t);
    return place < 0 ? null : tables.parts.count[place];
  }

  // -- places ---------------------------------------------------------------------------------------------------------

  const paths = ground.paths && ground.paths.map((path) => ({
    t: numbers(path.t), x: numbers(path.x), y: numbers(path.y), appears: path.appears, leaves: path.leaves,
  }));
  const microsPerTick = (ground.secondsPerUnit * 1e6) / run.ticks;
  const perNode = (make) => Array.from({ length: nodes }, make);

  // The layout is that of the links at time 0. More of them may come as long as the log is at time 0.
  let laidOut = { count: -1 };
  function layout() {
    const count = lastUpTo(tables.links.from, 0) + 1, isFinal = tables.end > 0;
    if (count !== laidOut.count || isFinal !== laidOut.isFinal) laidOut = { count, isFinal, places: springs(count) };
    return laidOut.places;
  }

  // Where a node is, in metres, or in a layout between 0 and 1; null for a node that is not there.
  function placeAt(node, t) {
    if (!paths) return layout()[node];
    const path = paths[node];
    const when = t * microsPerTick;
    if ((path.appears !== null && when < path.appears) || (path.leaves !== null && when >= path.leaves)) return null;
    const before = lastUpTo(path.t, when);
    if (before < 0) return { x: path.x[0] / 1000, y: path.y[0] / 1000 };
    if (before === path.t.length - 1) return { x: path.x[before] / 1000, y: path.y[before] / 1000 };
    const share = (when - path.t[before]) / (path.t[before + 1] - path.t[before]);
    const between = (a) => (a[before] + share * (a[before + 1] - a[before])) / 1000;
    return { x: between(path.x), y: between(path.y) };
  }

  // A layout of the initial links (Fruchterman and Reingold 1991), from a circle: always the same for the same links.
  function springs(count) {
    const places = perNode((_, i) => {
      const angle = (2 * Math.PI * i) / nodes - Math.PI / 2;
      return { x: 0.5 + 0.45 * Math.cos(angle), y: 0.5 - 0.45 * Math.sin(angle) };
    });
    const { a, b, to } = tables.links;
    const pairs = Array.from({ length: count }, (_, i) => i).filter((i) => to[i] > 0).map((i) => [a[i], b[i]]);
    pairs.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    const complete = pairs.length >= (nodes * (nodes - 1)) / 2;
    if (complete || pairs.length === 0 || nodes > 600) return places;
    const ideal = 0.8 / Math.sqrt(nodes);
    const rounds = nodes > 200 ? 60 : 200;
    for (let round = 0; round < rounds; round++) {
      const push = places.map(() => ({ x: 0, y: 0 }));
      for (let i = 0; i < nodes; i++) {
        for (let j = 0; j < i; j++) {
          const dx = places[i].x - places[j].x, dy = places[i].y - places[j].y;
          const square = Math.max(1e-6, dx * dx + dy * dy);
          const force = square < 16 * ideal * ideal ? (ideal * ideal) / square : 0; // or components would fly apart
          push[i].x += dx * force; push[i].y += dy * force;
          push[j].x -= dx * force; push[j].y -= dy * force;
        }
      }
      for (const [i, j] of pairs) {
        const dx = places[i].x - places[j].x, dy = places[i].y - places[j].y;
        const force = Math.sqrt(dx * dx + dy * dy) / ideal / 3;
        push[i].x -= dx * force; push[i].y -= dy * force;
        push[j].x += dx * force; push[j].y += dy * force;
      }
      const most = 0.1 * (1 - round / rounds);
      for (let i = 0; i < nodes; i++) {
        const length = Math.hypot(push[i].x, push[i].y) || 1;
        const step = Math.min(most, length);
        places[i].x += (push[i].x / length) * step + (0.5 - places[i].x) * 0.01;
        places[i].y += (push[i].y / length) * step + (0.5 - places[i].y) * 0.01;
      }
    }
    const span = (key) => [Math.min(...places.map((p) => p[key])), Math.max(...places.map((p) => p[key]))];
    const [[left, right], [low, high]] = [span("x"), span("y")];
    return places.map((p) => ({
      x: (p.x - left) / Math.max(1e-9, right - left), y: (p.y - low) / Math.max(1e-9, high - low),
    }));
  }

  // The rectangle that the map shows, in the units of `placeAt`.
  const bounds = (() => {
    if (!paths) return { left: 0, right: 1, low: 0, high: 1 };
    let left = Infinity, right = -Infinity, low = Infinity, high = -Infinity;
    const cover = (x, y) => {
      left = Math.min(left, x); right = Math.max(right, x); low = Math.min(low, y); high = Math.max(high, y);
    };
    if (ground.area) {
      cover(0, 0);
      cover(ground.area[0], ground.area[1]);
    }
    for (const path of paths) for (let i = 0; i < path.t.length; i++) cover(path.x[i] / 1000, path.y[i] / 1000);
    for (const place of ground.places) {
      cover(place.x - place.range, place.y - place.range);
      cover(place.x + place.range, place.y + place.range);
    }
    const least = 1;
    return { left, right: Math.max(right, left + least), low, high: Math.max(high, low + least) };
  })();

  // -- states of agents -----------------------------------------------------------------------------------------------

  const states = block("states");
  const agents = states && states.nodes.map((one) => {
    const agent = {};
    for (const name of Object.keys(one)) agent[name] = numbers(one[name]);
    const steps = agent.t.length;
    agent.first = new Float64Array(steps + 1); // of every step, its first change
    for (let i = 0; i < steps; i++) agent.first[i + 1] = agent.first[i] + agent.count[i];
    agent.cursor = { step: -1, state: {} };
    return agent;
  });

  function change(state, agent, i) {
    const name = states.attributes[agent.attribute[i]];
    const value = agent.value[i] < 0 ? undefined : states.values[agent.value[i]];
    if (agent.key[i] < 0) {
      state[name] = value;
      return;
    }
    const key = states.keys[agent.key[i]];
    const mapping = Array.isArray(state[name]) ? [...state[name]] : { ...state[name] }; // the table's own stays as it is
    if (value === undefined) delete mapping[key];
    else mapping[key] = value;
    state[name] = mapping;
  }

  // The state of a node's agent after all inputs up to a time; null if the page does not have it.
  function stateAt(node, t) {
    if (!agents || !(node in agents)) return null;
    const agent = agents[node];
    const step = lastUpTo(agent.t, t);
    if (step < 0) return {};
    let { step: at, state } = agent.cursor;
    if (at > step || at < 0) {
      at = -1;
      state = {};
    }
    for (let next = at + 1; next <= step; next++) {
      if (agent.start[next]) state = {};
      for (let i = agent.first[next]; i < agent.first[next + 1]; i++) change(state, agent, i);
    }
    agent.cursor = { step, state };
    return { ...state };
  }

  // All values that an attribute has had, for what the map shows of every node.
  function track(name) {
    const attribute = states ? states.attributes.indexOf(name) : -1;
    if (attribute < 0) return null;
    return agents.map((agent) => {
      const t = [], value = [];
      for (let step = 0; step < agent.t.length; step++) {
        for (let i = agent.first[step]; i < agent.first[step + 1]; i++) {
          if (agent.attribute[i] === attribute && agent.key[i] < 0) {
            t.push(agent.t[step]);
            value.push(states.values[agent.value[i]]);
          }
        }
      }
      return { t, value };
    });
  }

  const isNumberOrNone = (value) => value === null || Number.isInteger(value);
  const isHeight = (value) => Array.isArray(value) && value.length >= 2 && value.every(Number.isFinite);

  function firstTrack(names, fits) {
    for (const name of names) {
      const found = track(name);
      if (found && found.every((one) => one.value.every(fits))) return { name, nodes: found };
    }
    return null;
  }

  const pointers = firstTrack(["father", "parent", "holder", "next"], isNumberOrNone);
  const heights = firstTrack(["my_height", "height"], isHeight);

  function valueAt(tracks, node, t) {
    const one = tracks.nodes[node];
    const place = lastUpTo(one.t, t);
    return place < 0 ? null : one.value[place];
  }

  // Agents in a cluster know its nodes by their numbers inside it.
  const members = [];
  run.clusters.forEach((cluster, node) => (members[cluster] = members[cluster] || []).push(node));

  function pointerAt(node, t) {
    if (!pointers) return null;
    const value = valueAt(pointers, node, t);
    if (value === null) return null;
    const to = run.clusters.length ? members[run.clusters[node]][value] : value;
    return to !== undefined && to !== node && to >= 0 && to < nodes ? to : null;
  }

  function heightAt(node, t) {
    return heights ? valueAt(heights, node, t) : null;
  }

  // -- what a node did ------------------------------------------------------------------------------------------------

  const nodeEvents = perNode(() => ({ seen: 0, found: [] }));
  function eventsOf(node) {
    const mine = nodeEvents[node], of = tables.events.node;
    for (; mine.seen < of.length; mine.seen++) if (of[mine.seen] === node) mine.found.push(mine.seen);
    return mine.found;
  }

  function short(value) {
    const text = JSON.stringify(value);
    return text.length > 60 ? `${text.slice(0, 60)}…` : text;
  }

  function letter(message) {
    const { messages } = tables;
    const type = tables.names[messages.type[message]];
    const place = messages.fields[message];
    const fields = place >= 0 ? tables.values[place] : [];
    const names = Object.hasOwn(run.messageFields, type) ? run.messageFields[type] : [];
    if (!Array.isArray(fields) || fields.length === 0) return type;
    const shown = fields.map((value, i) => (names.length === fields.length ? `${names[i]}=` : "") + short(value));
    return `${type} (${shown.join(", ")})`;
  }

  const OUTPUTS = new Set(["send", "enter", "evict", "deposit", "regenerate", "broadcast"]);
  const WITH_PEER = new Set(["link_up", "link_down"]);
  const WITH_GROUP = new Set(["join", "leaving", "left", "deposit", "refused", "regenerate"]);

  function describe(i) {
    const { events, messages } = tables;
    const kind = tables.kinds[events.kind[i]], about = events.about[i];
    if (kind === "send") return `send ${letter(about)} to ${messages.to[about]}`;
    if (kind === "recv" && about >= 0) return `recv ${letter(about)} from ${messages.from[about]}`;
    if (kind === "return" && about >= 0) return `return ${letter(about)}, sent to ${messages.to[about]}`;
    if (kind === "relay" && about >= 0) return `relay ${letter(about)} of ${messages.from[about]} to ${messages.to[about]}`;
    if (kind === "lost" && about >= 0) return `lost ${letter(about)} to ${messages.to[about]}`;
    if (kind === "timer") return `timer ${tables.names[about]}`;
    if (kind === "partition") return `partition: ${about} part${about === 1 ? "" : "s"}`;
    if (WITH_PEER.has(kind)) return `${kind} ${about}`;
    if (WITH_GROUP.has(kind)) return `${kind} place ${about}`;
    return kind;
  }

  // Whether an event is an input of the node's agent or an output.
  function isOutput(i) {
    return OUTPUTS.has(tables.kinds[tables.events.kind[i]]);
  }

  // -- time as text ---------------------------------------------------------------------------------------------------

  // Ticks as time units with all digits; ticks are whole, so this is exact.
  function units(t) {
    const whole = Math.floor(t / run.ticks), rest = Math.round(t - whole * run.ticks);
    if (rest === 0) return String(whole);
    return `${whole}.${String(rest).padStart(String(run.ticks).length - 1, "0")}`.replace(/0+$/, "");
  }

  function ticks(text) {
    const value = Number(String(text).trim().replace(",", "."));
    return String(text).trim() !== "" && Number.isFinite(value) ? Math.round(value * run.ticks) : null;
  }

  // When marks of a kind are; looked up again if there are more.
  const markTimes = {};
  function timesOf(what) {
    const known = markTimes[what];
    if (known && known.of === tables.marks.length) return known.t;
    const t = tables.marks.filter((mark) => mark[2] === what).map((mark) => mark[0]);
    markTimes[what] = { of: tables.marks.length, t };
    return t;
  }

  // The times that one can step to.
  const moments = {
    get event() { return tables.events.t; },
    get entry() { return tables.entries; },
    get fault() { return timesOf("fault"); },
    get violation() { return timesOf("violation"); },
  };

  view.model = {
    run, ground, nodes, tables, moments, bounds,
    get end() { return Math.max(1, tables.end); },
    get typicalDelay() { return tables.typicalDelay; },
    events: tables.events, messages: tables.messages, links: tables.links, intervals: tables.intervals,
    names: tables.names, marks: tables.marks, relaysOf: tables.relaysOf,
    WAITING, INSIDE, CRASHED, CUT_OFF, ARRIVED, RETURNED, LOST, UNDECIDED,
    hasPositions: paths !== null, hasStates: agents !== null, hasMessages: run.trace === "events", hasEntries: run.trace !== "metrics",
    pointers, heights, is, isOpen, heldBy, groupOf, keptAt, partsAt, placeAt, pointerAt, heightAt,
    hopAt, stateAt, eventsOf, describe, isOutput, letter, units, ticks,
  };
  view.stateAt = stateAt;
})();
