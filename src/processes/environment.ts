/** Variables that load code into a program; passed only if `env` sets them explicitly. */
const LOADER_VARIABLES =
  /^(LD_|DYLD_|GCONV_PATH$|NODE_OPTIONS$|NODE_PATH$|PYTHONPATH$|PYTHONSTARTUP$|PYTHONHOME$|RUBYOPT$|RUBYLIB$|PERL5OPT$|PERL5LIB$|BASH_ENV$|ENV$|JAVA_TOOL_OPTIONS$)/i

/** Network variables: CAs, proxies, package registries. */
const NETWORK_VARIABLES = [
  'NODE_EXTRA_CA_CERTS NODE_USE_ENV_PROXY NODE_USE_SYSTEM_CA SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE',
  'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy',
  'npm_config_proxy npm_config_https_proxy npm_config_noproxy npm_config_cafile npm_config_registry',
].flatMap(names => names.split(' '))
/** Basic variables for paths, user and temporary files, on every system. */
const SYSTEM_VARIABLES = [
  'HOME LOGNAME PATH SHELL TERM USER LANG TMPDIR',
  'APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROCESSOR_ARCHITECTURE PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR',
].flatMap(names => names.split(' '))

/** Variables that a local server inherits, including those from its configuration. */
export function listServerVariables(named: readonly string[]): string[] {
  return [...new Set([...SYSTEM_VARIABLES, ...NETWORK_VARIABLES, ...named])]
}

/** Variables that a plugin's program inherits. */
export function listProgramVariables(named: readonly string[]): string[] {
  return [...new Set([...NETWORK_VARIABLES, ...named])]
}

/** Creates a child environment from inherited and configured variables only. */
export function createChildEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  inherit: readonly string[],
  set: Readonly<Record<string, string>>,
): { env: Record<string, string>; refused: string[] } {
  const env = Object.create(null) as Record<string, string>
  const refused: string[] = []
  for (const name of inherit) {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined
    if (value === undefined) continue
    if (LOADER_VARIABLES.test(name)) refused.push(name)
    else env[name] = value
  }
  return { env: Object.assign(env, set), refused: refused.filter(name => !Object.hasOwn(set, name)) }
}

/** Set in every process that a gateway starts; children inherit it. Identifies orphans. */
export const MARK_VARIABLE = 'TAPGATE_RUN'
