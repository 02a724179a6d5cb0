"""The settings a chat-completion preset may hold, by name.

Facts only: which keys SillyTavern knows, which of them describe a connection (skipped when a preset
is loaded without "bind to connection"), and which may hold something private.

Source: SillyTavern 1.19.0, public/scripts/openai.js, settingsToUpdate and the export warning.
"""

GENERATION_SETTINGS: frozenset[str] = frozenset(
    [
        "temperature",
        "frequency_penalty",
        "presence_penalty",
        "top_p",
        "top_k",
        "top_a",
        "min_p",
        "repetition_penalty",
        "max_context_unlocked",
        "tool_reasoning_mode",
        "openai_max_context",
        "openai_max_tokens",
        "names_behavior",
        "send_if_empty",
        "impersonation_prompt",
        "new_chat_prompt",
        "new_group_chat_prompt",
        "new_example_chat_prompt",
        "continue_nudge_prompt",
        "bias_preset_selected",
        "wi_format",
        "scenario_format",
        "personality_format",
        "group_nudge_prompt",
        "stream_openai",
        "prompts",
        "prompt_order",
        "assistant_prefill",
        "assistant_impersonation",
        "use_sysprompt",
        "squash_system_messages",
        "media_inlining",
        "inline_image_quality",
        "continue_prefill",
        "continue_postfix",
        "function_calling",
        "tool_call_recurse_limit",
        "show_thoughts",
        "reasoning_effort",
        "verbosity",
        "enable_web_search",
        "seed",
        "n",
        "request_images",
        "request_image_aspect_ratio",
        "request_image_resolution",
        "extensions",
    ]
)
"""Keys about the prompt and the sampling."""

CONNECTION_SETTINGS: frozenset[str] = frozenset(
    [
        "chat_completion_source",
        "group_models",
        "sort_models",
        "openai_model",
        "claude_model",
        "openrouter_model",
        "openrouter_use_fallback",
        "openrouter_providers",
        "openrouter_quantizations",
        "openrouter_allow_fallbacks",
        "openrouter_middleout",
        "ai21_model",
        "mistralai_model",
        "cohere_model",
        "perplexity_model",
        "groq_model",
        "chutes_model",
        "siliconflow_model",
        "siliconflow_endpoint",
        "minimax_model",
        "minimax_endpoint",
        "electronhub_model",
        "nanogpt_model",
        "nanogpt_provider",
        "nanogpt_payg_override",
        "deepseek_model",
        "aimlapi_model",
        "xai_model",
        "pollinations_model",
        "pollinations_endpoint",
        "moonshot_model",
        "fireworks_model",
        "cometapi_model",
        "custom_model",
        "custom_url",
        "custom_include_body",
        "custom_exclude_body",
        "custom_include_headers",
        "custom_prompt_post_processing",
        "google_model",
        "vertexai_model",
        "zai_model",
        "zai_endpoint",
        "workers_ai_model",
        "workers_ai_account_id",
        "reverse_proxy",
        "show_external_models",
        "proxy_password",
        "vertexai_auth_mode",
        "vertexai_region",
        "vertexai_express_project_id",
        "bypass_status_check",
        "azure_base_url",
        "azure_deployment_name",
        "azure_api_version",
        "azure_openai_model",
    ]
)
"""Keys about which service and model is asked."""

PRIVATE_SETTINGS: frozenset[str] = frozenset(
    [
        "reverse_proxy",
        "proxy_password",
        "custom_url",
        "custom_include_body",
        "custom_exclude_body",
        "custom_include_headers",
        "vertexai_region",
        "vertexai_express_project_id",
        "azure_base_url",
        "azure_deployment_name",
        "workers_ai_account_id",
    ]
)
"""Keys that SillyTavern warns about before a preset is shared."""

KNOWN_SETTINGS = GENERATION_SETTINGS | CONNECTION_SETTINGS
"""Every key that SillyTavern 1.19.0 reads from a preset."""
