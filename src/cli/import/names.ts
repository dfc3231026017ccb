/** A name as ours are: lower case, digits and hyphens. */
export function named(given: string): string {
  const name = given
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 28)
    .replace(/-+$/, '')
  return name === '' ? 'server' : name
}

/** The name, with a number where it is taken. */
export function free(name: string, taken: Readonly<Record<string, unknown>>): string {
  for (let number = 2, candidate = name; ; number++) {
    if (!Object.hasOwn(taken, candidate)) return candidate
    candidate = `${name}-${number}`
  }
}
