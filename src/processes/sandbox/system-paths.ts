import { existsSync, lstatSync, readlinkSync } from 'node:fs'

/** Programs and libraries of the system. */
const PROGRAMS = ['/usr', '/nix/store', '/run/current-system', '/var/lib/ca-certificates']
/** The same where they are folders of their own, and not links into /usr. */
const MERGED = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
/** What programs look up about the machine. /etc as a whole has passwords, private keys and tokens. */
const FACTS = inEtc(
  'alternatives crypto-policies fonts group java ld.so.cache localtime mime.types os-release passwd ssl/openssl.cnf static timezone',
)
/** The same for those that have a network. Each mount costs a start a fraction of a millisecond. */
const NETWORK_FACTS = inEtc(
  'ca-certificates gai.conf hosts nsswitch.conf pki/ca-trust pki/tls/cert.pem pki/tls/certs protocols resolv.conf services ssl/cert.pem ssl/certs',
)

/** Where others leave files and sockets: a sandbox has these for itself. */
export const OWN_FOLDERS = ['/tmp', '/var/tmp', '/run']

/** What of the system a sandbox shows. */
export function systemPaths(hasNetwork: boolean): string[] {
  const folders = MERGED.filter(folder => !isLink(folder))
  return [...PROGRAMS, ...folders, ...FACTS, ...(hasNetwork ? NETWORK_FACTS : [])].filter(path =>
    existsSync(path),
  )
}

/** Links at the root that lead into the system: the path and what it says. */
export function systemLinks(): [path: string, target: string][] {
  return MERGED.filter(isLink).map(folder => [folder, readlinkSync(folder)])
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

function inEtc(names: string): string[] {
  return names.split(' ').map(name => `/etc/${name}`)
}
