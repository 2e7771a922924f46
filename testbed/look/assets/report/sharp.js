// uPlot gives a canvas as many pixels as the screen has. On paper that is too coarse, so there are two for each at least.
(() => {
  "use strict";
  const ofScreen = window.devicePixelRatio;
  Object.defineProperty(window, "devicePixelRatio", { get: () => Math.max(2, ofScreen), configurable: true });
})();
