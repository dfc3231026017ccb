/** Fields of an error that can go to another process; what caused it becomes its text. */
export function plainFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const plain = Object.entries(fields).map(([key, value]) => [
    key,
    value instanceof Error ? value.message : value,
  ])
  return JSON.parse(JSON.stringify(Object.fromEntries(plain))) as Record<string, unknown>
}
