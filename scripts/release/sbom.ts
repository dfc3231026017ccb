import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { listPackages, listRuntimePackages, type Package } from './runtime-packages.ts'

/** Lists the packages whose code is inside dist. */
function listBundled(): Package[] {
  const licenses = readFileSync(new URL('../../dist/LICENSES.txt', import.meta.url), 'utf8')
  const names = [...licenses.matchAll(/^((?:@[\w.-]+\/)?[\w.-]+) \d+\.\d+\.\d+\S*$/gm)].map(([, name = '']) => name)
  return listPackages().filter(({ path }) => names.some(name => path === `node_modules/${name}`))
}

/**
 * Creates the bill of materials (CycloneDX 1.6): the packages that users install, and those inside dist. `npm sbom` would
 * leave out packages that a development package needs as well.
 */
export function createSbom({ version, license }: { readonly version: string; readonly license: string }): string {
  const installed = listRuntimePackages()
  const inside = listBundled().filter(one => !installed.some(({ path }) => path === one.path))
  const own = { name: 'tapgate', version, license, integrity: undefined }
  const sbom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: { timestamp: new Date().toISOString(), component: createComponent(own, 'application') },
    components: [...installed, ...inside].map(one => createComponent(one, 'library')),
  }
  return `${JSON.stringify(sbom, undefined, 2)}\n`
}

function createComponent(
  { name, version, license, integrity }: Pick<Package, 'name' | 'version' | 'license' | 'integrity'>,
  type: 'application' | 'library',
): object {
  // The only character of a package name that a package URL encodes.
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const [algorithm, digest = ''] = integrity?.split('-') ?? []
  const content = Buffer.from(digest, 'base64').toString('hex')
  return {
    ...{ type, 'bom-ref': purl, name, version, purl, licenses: [{ expression: license }] },
    ...(algorithm === 'sha512' ? { hashes: [{ alg: 'SHA-512', content }] } : {}),
  }
}
