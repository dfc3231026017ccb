import { createRequire } from 'node:module'

/** Our own name and version, from package.json. */
export function ownPackage(): { readonly name: string; readonly version: string } {
  const { name, version } = createRequire(import.meta.url)('tapgate/package.json') as {
    name: string
    version: string
  }
  return { name, version }
}
