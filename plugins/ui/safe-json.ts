/** Replaces the secrets in a text. */
export type Hide = (text: string) => string

/** A value as JSON, with every secret in its texts hidden: in JSON itself one with a quote in it is spelled in another way. */
export function safeJson(value: unknown, hide: Hide): string {
  const text = JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'string' ? hide(member) : member,
  ) as string | undefined
  return text ?? 'null'
}
