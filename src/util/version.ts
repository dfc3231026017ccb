import manifest from '../../package.json' with { type: 'json' }

const { name, version } = manifest

/** Reads our name and version from package.json. */
export function readOwnPackage(): { readonly name: string; readonly version: string } {
  return { name, version }
}
