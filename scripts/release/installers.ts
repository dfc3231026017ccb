// Manifests of package managers, from package.json and the files of a release.
import { readFileSync } from 'node:fs'
import { stringify } from 'yaml'

interface Manifest {
  readonly version: string
  readonly description: string
  readonly license: string
  readonly homepage: string
}

const PUBLISHER = 'tapgate'
const WINGET_ID = `${PUBLISHER}.${PUBLISHER}`
const WINGET_VERSION = '1.12.0'

/** A file of a release and its SHA-256. */
export interface ReleaseFile {
  readonly url: string
  readonly sha256: string
}

export function readManifest(): Manifest {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest
}

/** Formats a Homebrew formula that installs the npm package. */
export function formatFormula({ description, license, homepage }: Manifest, { url, sha256 }: ReleaseFile): string {
  return `class Tapgate < Formula
  desc ${JSON.stringify(description.replace(/^An? /, ''))}
  homepage ${JSON.stringify(homepage.replace('#readme', ''))}
  url ${JSON.stringify(url)}
  sha256 ${JSON.stringify(sha256)}
  license ${JSON.stringify(license)}

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gateway --version")
  end
end
`
}

/** Formats the three winget manifests, by file name; the archive has `gateway.exe` in it. */
export function formatWinget(
  { version, description, license, homepage }: Manifest,
  { url, sha256 }: ReleaseFile,
): Record<string, string> {
  const common = { PackageIdentifier: WINGET_ID, PackageVersion: version }
  const format = (type: string, fields: object): string =>
    `# yaml-language-server: $schema=https://aka.ms/winget-manifest.${type}.${WINGET_VERSION}.schema.json\n` +
    stringify({ ...common, ...fields, ManifestType: type, ManifestVersion: WINGET_VERSION })
  return {
    [`${WINGET_ID}.yaml`]: format('version', { DefaultLocale: 'en-US' }),
    [`${WINGET_ID}.installer.yaml`]: format('installer', {
      InstallerType: 'zip',
      NestedInstallerType: 'portable',
      NestedInstallerFiles: [{ RelativeFilePath: 'gateway.exe', PortableCommandAlias: 'gateway' }],
      Installers: [{ Architecture: 'x64', InstallerUrl: url, InstallerSha256: sha256.toUpperCase() }],
    }),
    [`${WINGET_ID}.locale.en-US.yaml`]: format('defaultLocale', {
      PackageLocale: 'en-US',
      Publisher: PUBLISHER,
      PackageName: PUBLISHER,
      PackageUrl: homepage.replace('#readme', ''),
      License: license,
      ShortDescription: description,
    }),
  }
}
