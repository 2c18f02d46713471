import { useState } from "react";
import { t } from "../language";
import { Button } from "../ui/Button";
import { Modal } from "../ui/Modal";
import styles from "../ui/Modal.module.css";

/** Gives the task back, after asking whether that is meant. */
export function GiveBack({ onGiveBack }: { onGiveBack: () => void }) {
  const [asking, setAsking] = useState(false);
  const close = () => setAsking(false);
  return (
    <>
      <Button look="quiet" onClick={() => setAsking(true)}>
        {t("Return the task")}
      </Button>
      <Modal
        title={t("Return the task?")}
        open={asking}
        onClose={close}
        closeLabel={t("Close")}
        foot={
          <>
            <Button look="quiet" onClick={close}>
              {t("Continue the task")}
            </Button>
            <Button onClick={onGiveBack}>{t("Return the task")}</Button>
          </>
        }
      >
        <div className={styles.body}>
          <p>{t("Your place will be given to somebody else, and you cannot come back to it. Your work so far is saved.")}</p>
        </div>
      </Modal>
    </>
  );
}
