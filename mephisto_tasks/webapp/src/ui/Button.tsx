import { Button as AriakitButton } from "@ariakit/react/button";
import type { ReactNode } from "react";
import styles from "./Button.module.css";

export interface ButtonProps {
  children: ReactNode;
  onClick?: () => void;
  type?: "button" | "submit";
  look?: "main" | "quiet";
  disabled?: boolean;
  /** Looks disabled and is announced so, yet can be pressed: pressing says what is missing. */
  unready?: boolean;
}

export function Button({ children, onClick, type = "button", look = "main", disabled = false, unready = false }: ButtonProps) {
  return (
    <AriakitButton
      type={type}
      disabled={disabled}
      accessibleWhenDisabled
      data-unready={unready ? "" : undefined}
      className={`${styles.button} ${look === "main" ? styles.main : styles.quiet}`}
      {...(onClick ? { onClick } : {})}
    >
      {children}
    </AriakitButton>
  );
}
