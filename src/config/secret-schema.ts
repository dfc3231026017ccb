/** True if a schema marks its values as secret: `x-secret`, `writeOnly`, or of the format `password`. */
export function isSecretBy(schema: Readonly<Record<string, unknown>> | undefined): boolean {
  return schema?.['x-secret'] === true || schema?.writeOnly === true || schema?.format === 'password'
}
