import { t } from "../../language";
import type { Choosing } from "./Choices";
import { useStep } from "./StepShell";
import styles from "./YourChoice.module.css";

/**
 * The choice once more, beside the button that sends it, because its card may be out of sight. It is for pointers: keys and
 * screen readers have the replies' own radios and checkboxes.
 */
export function YourChoice({ items, none, choice, onItem, onNone, onPressed }: Required<Choosing>) {
  const { pending } = useStep();
  const button = (key: string, text: string | number, chosen: boolean, choose: () => void) => {
    const onClick = () => {
      choose();
      onPressed();
    };
    return (
      <button key={key} type="button" tabIndex={-1} disabled={pending} data-chosen={chosen ? "" : undefined} onClick={onClick}>
        {text}
      </button>
    );
  };
  return (
    <div className={`cluster ${styles.row}`} aria-hidden="true">
      <span className="soft strong">{t("Your choice")}</span>
      {items.map((item, index) => button(item.id, index + 1, choice.selected.includes(item.id), () => onItem(item.id)))}
      {none !== null && button("none", none, choice.none, onNone)}
    </div>
  );
}
