import { t } from "../../language";
import type { Choice, Item } from "./choice";
import styles from "./YourChoice.module.css";

export interface YourChoiceProps {
  items: readonly Item[];
  none: string | null;
  choice: Choice;
  locked: boolean;
  onItem: (id: string) => void;
  onNone: () => void;
  onPressed: () => void;
}

/**
 * The choice once more, beside the button that sends it, because its card may be out of sight. It is for pointers: keys and
 * screen readers have the replies' own radios and checkboxes.
 */
export function YourChoice({ items, none, choice, locked, onItem, onNone, onPressed }: YourChoiceProps) {
  const press = (choose: () => void) => {
    choose();
    onPressed();
  };
  const button = (key: string, text: string | number, chosen: boolean, onClick: () => void) => (
    <button key={key} type="button" tabIndex={-1} disabled={locked} data-chosen={chosen ? "" : undefined} onClick={() => press(onClick)}>
      {text}
    </button>
  );
  return (
    <div className={styles.row} aria-hidden="true">
      <span>{t("Your choice")}</span>
      {items.map((item, index) => button(item.id, index + 1, choice.selected.includes(item.id), () => onItem(item.id)))}
      {none !== null && button("none", none, choice.none, onNone)}
    </div>
  );
}
