/**
 * Small things that must survive a reload of this tab: drafts, and answers not yet confirmed.
 *
 * Session storage and not local storage: agent ids count from 1 in every new database, so that a longer-lived
 * store would show one study's drafts in the next. A browser that forbids storage loses only this comfort.
 */
const PREFIX = "humaneval:";

export const store = {
  read(key: string): unknown {
    try {
      const text = window.sessionStorage.getItem(PREFIX + key);
      return text === null ? null : (JSON.parse(text) as unknown);
    } catch {
      return null;
    }
  },

  write(key: string, value: unknown): void {
    try {
      window.sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
    } catch {
      // Full or forbidden: go on without.
    }
  },

  remove(key: string): void {
    try {
      window.sessionStorage.removeItem(PREFIX + key);
    } catch {
      // Forbidden: nothing was written either.
    }
  },
};
