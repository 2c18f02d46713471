import { type RefObject, useEffect, useRef, useState } from "react";
import { t } from "../../language";
import { Button } from "../../ui/Button";
import { Modal } from "../../ui/Modal";
import styles from "./Actions.module.css";

/** How many are shown at a time. */
const FEW = 3;

export interface SuggestionsProps {
  suggestions: readonly string[];
  /** What stands in the message field now. */
  written: string;
  locked: boolean;
  field: RefObject<HTMLTextAreaElement | null>;
  onChoose: (suggestion: string) => void;
}

/** A few openings at a time; one is put into the message field. What was written there is replaced only when asked to. */
export function Suggestions({ suggestions, written, locked, field, onChoose }: SuggestionsProps) {
  const [open, setOpen] = useState(false);
  const [first, setFirst] = useState(0);
  const [wanted, setWanted] = useState<string | null>(null);
  const shown = suggestions.slice(first, first + FEW);

  const show = (next: boolean) => {
    setWanted(null);
    setOpen(next);
  };
  const put = (suggestion: string) => {
    onChoose(suggestion);
    show(false);
  };
  const choose = (suggestion: string) => {
    if (written.trim() === "" || suggestions.includes(written)) {
      put(suggestion);
    } else {
      setWanted(suggestion);
    }
  };
  return (
    <>
      <Button look="quiet" disabled={locked} onClick={() => show(true)}>
        {t("Topic ideas")}
      </Button>
      <Modal
        title={wanted === null ? t("Suggested topics") : t("Replace what you have written?")}
        open={open}
        onClose={() => show(false)}
        closeLabel={t("Close the suggestions")}
        finalFocus={field}
        foot={
          wanted === null ? (
            <>
              {suggestions.length > FEW && (
                <Button look="quiet" onClick={() => setFirst(first + FEW < suggestions.length ? first + FEW : 0)}>
                  {t("More suggestions")}
                </Button>
              )}
              <Button look="quiet" onClick={() => show(false)}>
                {t("Cancel")}
              </Button>
            </>
          ) : (
            <>
              <Button look="quiet" onClick={() => show(false)}>
                {t("Keep mine")}
              </Button>
              <Button onClick={() => put(wanted)}>{t("Replace it")}</Button>
            </>
          )
        }
      >
        <div className={`verbatim ${styles.dialog}`}>
          {wanted === null ? (
            <ul className={styles.suggestions}>
              {shown.map((suggestion) => (
                <li key={suggestion}>
                  <Button look="quiet" onClick={() => choose(suggestion)}>
                    {suggestion}
                  </Button>
                </li>
              ))}
            </ul>
          ) : (
            <Replacement text={wanted} />
          )}
        </div>
      </Modal>
    </>
  );
}

/** Takes the focus, because the button that led here is gone. */
function Replacement({ text }: { text: string }) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => ref.current?.focus(), []);
  return (
    <div ref={ref} tabIndex={-1}>
      <p>{t("Your message would become:")}</p>
      <blockquote>{text}</blockquote>
    </div>
  );
}
