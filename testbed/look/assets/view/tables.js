// What happened, as tables. A file holds them whole; of a run that goes on, `collect.js` adds to them line by line.
// Both give the same: rows in order of time, and Infinity as the end of what goes on at the end of the log.
(() => {
  "use strict";
  const view = window.testbedView;
  const { numbers, Spans } = view;
  const WAITING = 0, INSIDE = 1, CRASHED = 2, CUT_OFF = 3; // what an interval of a node is
  const ARRIVED = 0, RETURNED = 1, LOST = 2, UNDECIDED = 3; // what became of a message
  const NONE = { t: [], node: [] };

  const columns = (...names) => Object.fromEntries(names.map((name) => [name, []]));

  // Tables of a run of which nothing is known yet.
  function empty(run) {
    const perNode = (make) => Array.from({ length: run.nodes }, make);
    const spans = new Spans(), linkSpans = new Spans(), relays = new Map();
    return {
      end: 0, kinds: [], names: [], values: [], marks: run.marks, typicalDelay: 0,
      events: columns("t", "node", "kind", "about"),
      entries: [], // the times of the events that are entries
      messages: { ...columns("from", "to", "type", "units", "tokens", "fate", "fields"), t: spans.from, until: spans.to, spans },
      relays, // of a message: the nodes that passed it on, and when
      relaysOf: (message) => relays.get(message) ?? NONE,
      links: { ...columns("a", "b", "ends"), from: linkSpans.from, to: linkSpans.to, spans: linkSpans },
      intervals: perNode(() => Array.from({ length: 4 }, () => columns("from", "to"))), // disjoint and ascending
      held: perNode(() => columns("t", "units", "tokens")),
      stays: perNode(() => columns("from", "to", "group")),
      kept: run.places.map(() => columns("t", "units")),
      parts: columns("t", "count"),
    };
  }

  // Tables of a file. The long ones stay packed in typed arrays.
  function fromFile(run, happened) {
    const tables = empty(run);
    const end = Math.max(1, happened.end);
    const { kinds, names, values, typicalDelay } = happened;
    Object.assign(tables, { end, kinds, names, values, typicalDelay });
    const orOpen = (t) => (t >= end ? Infinity : t);

    const [t, node, kind, about] = happened.events.map(numbers);
    tables.events = { t, node, kind, about };
    const enter = kinds.indexOf("enter");
    tables.entries = t.filter((_, i) => kind[i] === enter);

    {
      const [t, took, from, to, type, units, tokens, fate, fields] = happened.messages.map(numbers);
      const until = new Float64Array(t.length);
      for (let i = 0; i < t.length; i++) until[i] = took[i] > 0 ? t[i] + took[i] - 1 : Math.min(end, t[i] + typicalDelay);
      tables.messages = { t, until, from, to, type, units, tokens, fate, fields, spans: new Spans(t, until) };
      // The relays of message i are from first[i] up to first[i + 1].
      const [relayed, relayTime, relayNode] = happened.relays.map(numbers);
      const first = new Float64Array(t.length + 1);
      for (const i of relayed) first[i + 1]++;
      for (let i = 0; i < t.length; i++) first[i + 1] += first[i];
      tables.relaysOf = (i) => (first[i] === first[i + 1] ? NONE
        : { t: relayTime.subarray(first[i], first[i + 1]), node: relayNode.subarray(first[i], first[i + 1]) });
    }
    {
      const [a, b, from, ended, ends] = happened.links.map(numbers);
      const to = ended.map(orOpen);
      tables.links = { a, b, from, to, ends, spans: new Spans(from, to) };
    }
    spread(happened.intervals, ([node, what]) => tables.intervals[node][what], ([, , from, to]) => ({ from, to: orOpen(to) }));
    spread(happened.held, ([, node]) => tables.held[node], ([t, , units, tokens]) => ({ t, units, tokens }));
    spread(happened.stays, ([node]) => tables.stays[node], ([, group, from, to]) => ({ from, to: orOpen(to), group }), 2);
    spread(happened.kept, ([, group]) => tables.kept[group], ([t, , units]) => ({ t, units }));
    spread(happened.parts, () => tables.parts, ([t, count]) => ({ t, count }));
    return tables;
  }

  // Puts rows into the tables that they belong to; `order` is the column by which they are sorted first, if they are not.
  function spread(packed, tableOf, rowOf, order = null) {
    const unpacked = packed.map(numbers);
    const rows = Array.from(unpacked[0], (_, i) => unpacked.map((column) => column[i]));
    if (order !== null) rows.sort((one, other) => one[order] - other[order]);
    for (const row of rows) add(tableOf(row), rowOf(row));
  }

  function add(table, row) {
    for (const name of Object.keys(row)) table[name].push(row[name]);
  }

  view.tables = { empty, fromFile, add, WAITING, INSIDE, CRASHED, CUT_OFF, ARRIVED, RETURNED, LOST, UNDECIDED };
})();
