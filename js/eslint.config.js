import js from "@eslint/js";
import globals from "globals";

// Run from the top of the repository (`npm run lint`), so that the pages are within reach.
export default [
  { ignores: ["**/node_modules/**", "**/vendor/**", "**/*.d.ts"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, sourceType: "module" },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-control-regex": "off", // JSON forbids control characters, so a pattern names them
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-shadow": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      // Text is never markup.
      "no-restricted-properties": ["error", { property: "innerHTML" }, { property: "outerHTML" }, { property: "insertAdjacentHTML" }],
    },
  },
  // The library runs in browsers, in workers and in node, so only what all of them have.
  { files: ["js/src/**"], languageOptions: { globals: globals["shared-node-browser"] } },
  { files: ["js/src/vdaf/client.js", "js/src/vdaf/worker.js"], languageOptions: { globals: globals.worker } },
  { files: ["js/src/randomness.js"], languageOptions: { globals: { crypto: "readonly" } } },
  { files: ["js/test/**", "js/eslint.config.js", "**/*.mjs"], languageOptions: { globals: globals.nodeBuiltin } },
  { files: ["**/web/static/**"], languageOptions: { globals: globals.browser } },
];
