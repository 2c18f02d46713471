import { useEffect, useState } from "react";
import { Button } from "../ui/Button";
import styles from "./NewStudy.module.css";
import { ask, type Choices, told } from "./wire";

/** So long nothing may change before the rater's page is served again. */
const QUIET_MS = 800;

/** The rater's page of the study on a phone, with built-in models; nothing that is done there is kept. */
export function Preview({ choices }: { choices: Choices }) {
  const [found, setFound] = useState({ key: "", url: "", problem: "" });
  const [again, setAgain] = useState(0);
  const { technique, settings } = choices;
  const key = JSON.stringify([technique, { ...settings, models: null, task_name: null }, again]);
  useEffect(() => {
    const left = new AbortController();
    const timer = setTimeout(() => {
      ask<{ url: string }>("preview", { choices }, left.signal)
        .then(({ url }) => setFound({ key, url, problem: "" }))
        .catch((error: unknown) => {
          if (!left.signal.aborted) {
            setFound({ key, url: "", problem: told(error) });
          }
        });
    }, QUIET_MS);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the key has all of the choices that change the page
  }, [key]);
  const { url, problem } = found.key === key ? found : { url: "", problem: "" };
  return (
    <section className={styles.preview} aria-labelledby="preview">
      <h2 id="preview">What raters see</h2>
      <p className={styles.about}>Built-in models answer here, the practice is left out, and nothing is stored.</p>
      <div className={styles.phone}>
        {url === "" ? (
          <p role="status" className={problem ? "wrong" : "soft"}>
            {problem || "Preparing the rater's page…"}
          </p>
        ) : (
          <iframe src={url} title="The rater's page" />
        )}
      </div>
      <Button look="quiet" onClick={() => setAgain(again + 1)}>
        Begin again
      </Button>
    </section>
  );
}
