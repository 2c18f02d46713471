/** Lines as a list, whose marks stand on the side on which its language begins. */
export function Bullets({ lines, className = "" }: { lines: readonly string[]; className?: string }) {
  return (
    <ul className={`bullets ${className}`} dir="auto">
      {lines.map((line, index) => (
        <li key={index}>{line}</li>
      ))}
    </ul>
  );
}
