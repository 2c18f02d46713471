import { useEffect, useRef } from "react";
import styles from "./Help.module.css";

const KEYS: readonly [string, string][] = [
  ["j / k", "next / previous dialogue of the list"],
  ["/", "search all texts"],
  ["Enter", "leave the search field"],
  ["Esc", "leave the search field; close the dialogue"],
  ["?", "this help"],
];

export function Help({ onClose, madeWith }: { onClose: () => void; madeWith: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) {
      element.showModal();
    }
  }, []);
  return (
    <dialog ref={dialog} className={styles.help} aria-labelledby="help" onClose={onClose}>
      <h2 id="help">Help</h2>
      <dl className={styles.keys}>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p>
        The search finds entries with all of your words; put a phrase into quotation marks. Two values of one filter mean
        either; two filters mean both. Each turn has a link that you can paste into a paper or an issue.
      </p>
      <p>
        Disagreement is the share of pairs of answers to the same question that differ, of raters and judges. Ratings count by
        their distance on the scale.
      </p>
      <p className="soft">{`Written by parlai-humaneval ${madeWith}. Raters are pseudonyms. Nothing here asks any server.`}</p>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}
