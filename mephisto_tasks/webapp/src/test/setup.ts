import "@testing-library/jest-dom/vitest";
import { cleanup } from "@testing-library/react";
import { afterEach, beforeEach, vi } from "vitest";

/** No mock: what restores mocks after each test goes through all that any test has made. */
const nothing = () => undefined;

beforeEach(() => {
  window.sessionStorage.clear();
  // jsdom has no layout: the page's scrolling and media queries get the answers of a desktop at rest.
  window.scrollTo = nothing;
  window.matchMedia = (query: string) =>
    ({
      matches: query.includes("hover: hover"),
      media: query,
      addEventListener: nothing,
      removeEventListener: nothing,
    }) as unknown as MediaQueryList;
  window.ResizeObserver = class {
    observe = nothing;
    unobserve = nothing;
    disconnect = nothing;
  };
  Element.prototype.scrollIntoView = nothing;
  Element.prototype.checkVisibility = () => true;
  vi.stubGlobal("CSS", { supports: () => false, escape: (text: string) => text });
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});
